import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { expect, test } from 'vitest';
import { startServer } from '../src/server.ts';
import { createLog } from '../src/log.ts';
import { certificates } from './listeners/listeners.ts';
import { freePort, serving, type Serving, started, temporaryFile, temporaryFolder } from './serving.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };
const LIMITS = 'limits: { login: 3/h }';

async function statusOf(server: Serving, path: string, init: RequestInit = {}): Promise<number> {
  return (await fetch(`http://127.0.0.1:${server.probeAddress?.port}${path}`, init)).status;
}

test('the probe listener answers without a token or a certificate, while other listeners require them', async () => {
  const folder = temporaryFolder();
  const { ca, cert, key } = certificates();
  const files = { cert: join(folder, 'cert'), key: join(folder, 'key'), ca: join(folder, 'ca') };
  for (const [name, text] of Object.entries({ cert, key, ca })) writeFileSync(join(folder, name), text);
  const http = { address: LOCAL, tokens: () => ['secret'] };
  const server = await serving(LIMITS, { listeners: { http }, tls: files, probe: LOCAL });
  await expect(fetch(`https://127.0.0.1:${server.addresses.http?.port}/metrics`)).rejects.toThrow();
  expect(await statusOf(server, '/livez')).toBe(200);
  expect(await statusOf(server, '/readyz')).toBe(200);
  expect(await statusOf(server, '/readyz?store')).toBe(200);
  expect(await statusOf(server, '/readyz', { method: 'HEAD' })).toBe(200);
  const metrics = await fetch(`http://127.0.0.1:${server.probeAddress?.port}/metrics`);
  expect(metrics.headers.get('content-type')).toContain('version=0.0.4');
  expect(await metrics.text()).toContain('sluice_certificate_expiry_timestamp_seconds{listener="http"}');
});

test('the log warns if other machines can read the most denied keys from the probe listener', async () => {
  const everywhere = { host: '0.0.0.0', port: 0 };
  const warningOf = async (options: Parameters<typeof serving>[1]) =>
    (await serving(LIMITS, options)).lines.find((line) => line.includes('remove --top-keys'));
  expect(await warningOf({ probe: everywhere, metrics: { topKeys: 5 } })).toContain('"listener":"probe"');
  expect(await warningOf({ probe: everywhere })).toBeUndefined();
  expect(await warningOf({ probe: LOCAL, metrics: { topKeys: 5 } })).toBeUndefined();
});

test('the probe listener rejects other paths and methods, and requests from web pages of other origins', async () => {
  const server = await serving(LIMITS, { probe: LOCAL });
  expect(await statusOf(server, '/v1/take', { method: 'POST', body: '{}' })).toBe(405);
  expect(await statusOf(server, '/v1/limits')).toBe(404);
  expect(await statusOf(server, '/metrics', { headers: { origin: 'http://example.com' } })).toBe(403);
});

test('the HTTP listener also answers probes, without a token', async () => {
  const http = { address: LOCAL, tokens: () => ['secret'] };
  const server = await serving(LIMITS, { listeners: { http } });
  const probe = async (path: string) => (await fetch(server.url + path)).status;
  for (const path of ['/livez', '/readyz', '/readyz?store']) expect(await probe(path)).toBe(200);
  const drained = server.drain({ delay: 500, timeout: 0 });
  expect([await probe('/livez'), await probe('/readyz')]).toEqual([200, 503]);
  await drained;
});

test('/readyz fails and /livez succeeds while the server waits for its store and while it drains', async () => {
  const sockets: Socket[] = [];
  // Accepts connections like a database that hangs.
  const database = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => database.listen(0, '127.0.0.1', resolve));
  const { port: databasePort } = database.address() as { port: number };
  const port = await freePort();
  const starting = startServer({
    config: [temporaryFile(LIMITS)],
    store: { url: `postgres://127.0.0.1:${databasePort}/a` },
    listeners: { http: { address: LOCAL } },
    probe: { host: '127.0.0.1', port },
    watch: false,
    log: createLog(() => {}),
  });
  const failed = expect(starting).rejects.toThrow();
  const probe = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;
  await expect.poll(() => probe('/livez').catch(() => 0)).toBe(200);
  expect(await probe('/readyz')).toBe(503);
  for (const socket of sockets) socket.destroy();
  database.close();
  await failed;
  await expect(probe('/livez')).rejects.toThrow();

  const server = await serving(LIMITS, { probe: LOCAL });
  expect(await statusOf(server, '/readyz')).toBe(200);
  const drained = server.drain({ delay: 500, timeout: 0 });
  expect(await statusOf(server, '/readyz')).toBe(503);
  expect(await statusOf(server, '/livez')).toBe(200);
  await drained;
  await expect(statusOf(server, '/livez')).rejects.toThrow();
});

test('/readyz?store fails while the store is down, and the metrics and the log show that a fallback decides', async () => {
  const redis = await redisServer();
  const url = `redis://127.0.0.1:${redis.port}`;
  const server = await serving(LIMITS, { store: { url, deadline: '2s', onFailure: 'allow' }, probe: LOCAL });
  const isActive = () => /^sluice_fallback_active (\d)$/m.exec(server.core.metrics.text())?.[1];
  const linesWith = (words: string) => server.lines.filter((line) => line.includes(words)).length;
  await server.core.take('login', 'alice');
  expect(await statusOf(server, '/readyz?store')).toBe(200);
  expect(isActive()).toBe('0');
  await redis.stop();
  for (let i = 0; i < 10; i++) await server.core.take('login', 'alice');
  expect(isActive()).toBe('1');
  await expect.poll(() => statusOf(server, '/readyz?store'), { timeout: 10_000 }).toBe(503);
  expect(await statusOf(server, '/readyz')).toBe(200);
  expect((await fetch(`${server.url}/readyz?store`)).status).toBe(503);
  expect(linesWith('the store does not answer: all requests are allowed')).toBe(1);
  expect(server.lines.join('')).toContain('"limit":"login","onFailure":"allow"');
  const again = await redisServer({ port: redis.port });
  await expect.poll(() => statusOf(server, '/readyz?store'), { timeout: 20_000 }).toBe(200);
  await expect.poll(isActive).toBe('0');
  expect(linesWith('the store does not answer: all requests are allowed')).toBe(1);
  expect(linesWith('enforcing shared limits again')).toBe(1);
  await server.drain();
  await again.stop();
}, 40_000);

test('sluice serve --probe-http opens the probe listener, and /readyz fails as soon as SIGTERM has arrived', async () => {
  const process = await started(
    '--config',
    temporaryFile(LIMITS),
    '--probe-http',
    '127.0.0.1:0',
    '--drain-delay',
    '1s',
  );
  // The probe listener is the first listener that the log mentions.
  const readiness = async () => (await fetch(`${process.url}/readyz`)).status;
  await expect.poll(readiness, { timeout: 10_000 }).toBe(200);
  process.process.kill('SIGTERM');
  await process.says('"message":"draining"');
  expect(await readiness()).toBe(503);
  expect((await fetch(`${process.url}/livez`)).status).toBe(200);
  expect(await process.gone).toBe(0);
}, 20_000);
