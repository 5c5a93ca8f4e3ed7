/** Tests listeners on a Redis store: what happens when Redis stops, and when two servers lease from it. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { expect, inject, test } from 'vitest';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { command, talk } from './listeners.ts';
import { clientOf, RATE_LIMIT } from './grpc/client.ts';
import { serving, type Started, started, temporaryFile } from '../serving.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };
const LIMITS =
  'limits: { a: 9/h }\ndomain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 9 } }]';

test('gRPC and RESP answer UNAVAILABLE while Redis is down, and work again when it is back', async () => {
  const redis = await redisServer();
  const server = await serving(LIMITS, {
    store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '2s', onFailure: 'throw' },
    listeners: { http: { address: LOCAL }, grpc: { address: LOCAL }, resp: { address: LOCAL } },
  });
  const { call } = clientOf(server.addresses.grpc?.port ?? 0, RATE_LIMIT);
  const ask = (): Promise<unknown> =>
    call('ShouldRateLimit', { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] });
  const throttle = (): Promise<string> =>
    talk(
      server.addresses.resp?.port ?? 0,
      command('throttle', 'x', 'a') + command('cl.throttle', 'x', '1', '1', '60'),
    );
  expect(await ask()).toMatchObject({ overallCode: 'OK' });
  expect(await throttle()).toMatch(/^\*5\r\n:0\r\n:9\r\n:8\r\n.*\*5\r\n:0\r\n:2\r\n:1\r\n/s);
  await redis.stop();
  await Promise.all(
    Array.from({ length: 6 }, () =>
      expect(ask()).rejects.toMatchObject({
        code: status.UNAVAILABLE,
        details: expect.stringContaining('the store is not available'),
      }),
    ),
  );
  expect(await throttle()).toMatch(/^-UNAVAILABLE .*\r\n-UNAVAILABLE .*\r\n$/);
  const again = await redisServer({ port: redis.port });
  await expect
    .poll(() => ask().catch(() => undefined), { timeout: 20_000 })
    .toMatchObject({ overallCode: 'OK' });
  expect(await throttle()).toMatch(/^\*5\r\n.*\*5\r\n/s);
  await server.drain();
  await again.stop();
}, 30_000);

/** Sends pipelined takes over one connection. Returns how many were allowed. */
async function taken(port: number, name: string, count: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk) => {
    heard += chunk.toString('latin1');
  });
  socket.write(command('throttle', 'x', name).repeat(count) + command('quit'));
  await once(socket, 'close');
  const answers = heard.split('*5\r\n').slice(1);
  expect(answers).toHaveLength(count);
  return answers.filter((answer) => answer.startsWith(':0\r\n')).length;
}

test('two servers that lease units never exceed the limit in total, and each can use units that the other returns', async () => {
  const limit = 2000;
  const totals: number[] = [];
  // The units of a lease fade while a server holds them, so the server loses more of them if the machine stalls.
  await punctually(300, async () => {
    const name = `both-${process.pid}-${totals.push(0)}`;
    const file = temporaryFile(`limits: { ${name}: ${limit}/3650d }`);
    const store = `redis://127.0.0.1:${inject('redisPort')}`;
    const args = ['--config', file, '--store', store, '--leased', '2', '--deadline', '10s'];
    const servers = await Promise.all([1, 2].map(() => started('--resp', '127.0.0.1:0', ...args)));
    const ports = await Promise.all(
      servers.map(async (server) => {
        await server.says('"listener":"resp"');
        return Number(/"resp","address":"127\.0\.0\.1:(\d+)"/.exec(server.output())?.[1]);
      }),
    );
    const take = async (port: number, count: number): Promise<number> => {
      const passed = await taken(port, name, count);
      totals[totals.length - 1] += passed;
      return totals.at(-1) ?? 0;
    };
    for (let i = 0; i < 12; i++) await Promise.all(ports.map((port) => take(port, 50)));
    expect(totals.at(-1)).toBe(1200);
    const [first] = servers as [Started];
    first.process.kill('SIGTERM');
    expect(await first.gone).toBe(0);
    const [, port = 0] = ports;
    // Servers cache denials briefly, so the last takes may be allowed a little later. A few leased units fade and are never spent.
    await expect
      .poll(() => take(port, 100), { timeout: 15_000, interval: 50 })
      .toBeGreaterThanOrEqual(limit - 10);
    await take(port, 500);
  });
  for (const admitted of totals) expect(admitted).toBeLessThanOrEqual(limit);
}, 60_000);
