/**
 * Tests many idle connections. The server is a separate process, so that the measured memory includes only the server's ends of
 * the sockets. Needs the build.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { talk } from './listeners.ts';
import { clientOf, HEALTH } from './grpc/client.ts';
import { started, temporaryFile } from '../serving.ts';

const IDLE = 10_000;
/**
 * Number of connections to open concurrently. The kernel queues only a limited number of connections that are not accepted yet.
 */
const WAVE = 500;
const LISTENERS = ['http', 'grpc', 'resp'];

test(`with ${IDLE} idle connections, each listener still answers, and uses little memory per connection`, async () => {
  const listeners = ['--grpc', '127.0.0.1:0', '--resp', '127.0.0.1:0'];
  const server = await started('--config', temporaryFile('limits: { a: 1/s }'), ...listeners);
  await server.says('"listener":"resp"');
  const ports = [...server.output().matchAll(/"address":"127\.0\.0\.1:(\d+)"/g)].map(([, port]) =>
    Number(port),
  );
  expect(ports).toHaveLength(LISTENERS.length);
  const before = residentOf(server.process.pid);
  const sockets: Socket[] = [];
  try {
    while (sockets.length < IDLE) {
      const wave = Array.from({ length: WAVE }, (_, i) => connect(ports[i % LISTENERS.length], '127.0.0.1'));
      sockets.push(...wave);
      await Promise.all(wave.map((socket) => once(socket, 'connect')));
    }
    const [http = 0, grpc = 0, resp = 0] = ports;
    expect(await (await fetch(`http://127.0.0.1:${http}/healthcheck`)).text()).toBe('OK');
    expect((await clientOf(grpc, HEALTH).call('Check', { service: '' })).status).toBe('SERVING');
    expect(await talk(resp, 'PING\r\n')).toBe('+PONG\r\n');
    expect(sockets.filter(({ readyState }) => readyState !== 'open')).toEqual([]);
    expect((residentOf(server.process.pid) - before) / IDLE).toBeLessThan(64 * 1024);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}, 120_000);

/** Resident memory of a process, in bytes. */
function residentOf(pid: number | undefined): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
