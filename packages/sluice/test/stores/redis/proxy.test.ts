/** Tests of the proxy that other tests use to inject network faults. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { proxyTo } from './proxy.ts';

test('bytes arrive in order, however long each of them is delayed', async () => {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  onTestFinished(() => void echo.close());
  const network = await proxyTo((echo.address() as AddressInfo).port);
  onTestFinished(() => network.stop());
  const socket = connect(network.port, '127.0.0.1').setNoDelay(true);
  onTestFinished(() => void socket.destroy());
  let heard = '';
  socket.on('data', (bytes) => {
    heard += bytes.toString();
  });
  let said = '';
  for (let i = 0; i < 400; i++) {
    network.latency = Math.floor(i / 10) % 2 === 0 ? 5 + (i % 7) / 3 : 0;
    const word = `${i} `;
    said += word;
    socket.write(word);
    await sleep(i % 3);
  }
  await expect.poll(() => heard.length, { timeout: 10_000 }).toBe(said.length);
  expect(heard).toBe(said);
});
