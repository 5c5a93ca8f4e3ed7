import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';
import { freePort, listening, redisServer } from 'sluice-test-support/redis/server.ts';
import { openStore } from '../src/store.ts';
import { UsageError } from '../src/config/usage-error.ts';
import { serving, type Serving, temporaryFile, temporaryFolder } from './serving.ts';

const LIMITS =
  'limits: { a: 3/h }\ndomain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]';
const QUESTION = { limit: 'a', key: 'x' };

test('on Redis, /v1/take-many decides on all items in one step, and settlements are bounded', async () => {
  const redis = await redisServer();
  const server = await serving(LIMITS, {
    store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '10s', onFailure: 'throw' },
  });
  const ask = async (path: string, body: unknown) => (await server.post(path, body)).json();
  const items = ['x', 'y'].map((key) => ({ limit: 'a', key }));
  expect(await ask('/v1/take-many', { items })).toMatchObject({ allowed: true, atomic: true, taken: 2 });
  const denied = { items: [QUESTION, { limit: 'a', key: 'y', cost: 3 }] };
  expect(await ask('/v1/take-many', denied)).toMatchObject({ allowed: false, atomic: true, taken: 0 });
  expect(await ask('/v1/peek', QUESTION)).toMatchObject({ remaining: 2 });
  for (let i = 0; i < 10; i++) await ask('/v1/settle', { ...QUESTION, charged: 0, used: 1000 });
  const { retryAfter } = (await ask('/v1/peek', QUESTION)) as { retryAfter: number };
  expect(retryAfter).toBeGreaterThan(3_600_000);
  expect(retryAfter).toBeLessThanOrEqual(2 * 3_600_000);
  await server.drain();
  await redis.stop();
}, 30_000);

test('servers with different key prefixes count separately on one Redis, for all kinds of limits', async () => {
  const redis = await redisServer();
  const limits = LIMITS.replace('a: 3/h', 'a: { policies: 3/h, onFailure: deny }');
  const start = (keyPrefix: string) =>
    serving(limits, { store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '10s', keyPrefix } });
  const [one, same, other] = [await start('one:'), await start('one:'), await start('other:')];
  const remaining = async ({ post }: Serving) =>
    ((await (await post('/v1/take', QUESTION)).json()) as { remaining: number }).remaining;
  expect([await remaining(one), await remaining(same), await remaining(other)]).toEqual([2, 1, 2]);
  const items = ['x', 'y'].map((key) => ({ limit: 'a', key }));
  expect(await (await one.post('/v1/take-many', { items })).json()).toMatchObject({ atomic: true });
  const json = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
  expect([(await one.post('/json', json)).status, (await other.post('/json', json)).status]).toEqual([
    200, 200,
  ]);
  expect((await same.post('/json', json)).status).toBe(429);
  await one.core.clThrottle('cell', 1, 1, 60);
  const control = new Redis(redis.port);
  const keys = await control.keys('*');
  expect(keys.filter((key) => !/^(one|other):/.test(key))).toEqual([]);
  expect(keys.length).toBeGreaterThanOrEqual(5);
  control.disconnect();
  await redis.stop();
  expect(await (await one.post('/v1/take', { limit: 'a', key: 'z' })).json()).toMatchObject({
    allowed: false,
    source: 'fallback',
  });
  await Promise.all([one, same, other].map((server) => server.drain()));
}, 30_000);

test('a key prefix with spaces is rejected', async () => {
  await expect(openStore({ url: 'memory', keyPrefix: 'a b' })).rejects.toThrow(
    '--key-prefix must have at most',
  );
});

describe('a store that is unavailable', () => {
  test('causes responses with status 503 if --on-failure is throw, is reported in /metrics, and is used again when it is back', async () => {
    const redis = await redisServer();
    const server = await serving(LIMITS, {
      store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '2s', onFailure: 'throw' },
    });
    expect((await server.post('/v1/take', QUESTION)).status).toBe(200);
    await redis.stop();
    const six = Array.from({ length: 6 }, async () => (await server.post('/v1/take', QUESTION)).status);
    expect(await Promise.all(six)).toEqual(six.map(() => 503));
    const response = await server.post('/v1/take', QUESTION);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({
      type: 'urn:sluice:store-unavailable',
      fault: expect.any(String),
    });
    const json = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
    expect((await server.post('/json', json)).status).toBe(503);
    expect((await server.post('/v1/take', [QUESTION, QUESTION])).status).toBe(503);
    const isOpen = async (): Promise<boolean> => {
      await server.post('/v1/take', QUESTION);
      return /sluice_store_errors_total\{fault="circuit-open"\} [1-9]/.test(server.core.metrics.text());
    };
    await expect.poll(isOpen, { timeout: 20_000 }).toBe(true);
    const metrics = server.core.metrics.text();
    expect(metrics).toMatch(/^sluice_store_up 0$/m);
    expect(metrics).toMatch(/sluice_store_errors_total\{fault="circuit-open"\} [1-9]/);
    expect(server.lines.join('')).toContain('the store is not responding');

    const again = await redisServer({ port: redis.port });
    await expect
      .poll(async () => (await server.post('/v1/take', QUESTION)).status, { timeout: 20_000 })
      .toBe(200);
    expect(server.core.metrics.text()).toMatch(/^sluice_store_up 1$/m);
    await server.drain();
    await again.stop();
  }, 30_000);

  test('is reported as down in /metrics until the server has connected to it for the first time', async () => {
    const port = await freePort();
    const server = await serving(LIMITS, { store: { url: `redis://127.0.0.1:${port}` } });
    expect(server.core.metrics.text()).toMatch(/^sluice_store_up 0$/m);
    const redis = await redisServer({ port });
    await expect.poll(() => server.core.metrics.text(), { timeout: 20_000 }).toMatch(/^sluice_store_up 1$/m);
    await server.drain();
    await redis.stop();
  }, 60_000);

  test("is replaced by the server's memory, which enforces the same limits", async () => {
    const redis = await redisServer();
    const url = `redis://127.0.0.1:${redis.port}`;
    const server = await serving(LIMITS, { store: { url, deadline: '2s' } });
    expect((await server.post('/v1/take', QUESTION)).status).toBe(200);
    await redis.stop();
    expect(await fourTakes(server)).toEqual([true, true, true, false]);
    const response = await server.post('/v1/take', QUESTION);
    expect(await response.json()).toMatchObject({ allowed: false, source: 'fallback' });
    expect(server.core.metrics.text()).toMatch(/sluice_store_fallbacks_total [5-9]/);
    await server.drain();
  });

  test('is replaced by the fallback of each limit, which changes when the file is reloaded', async () => {
    const redis = await redisServer();
    const url = `redis://127.0.0.1:${redis.port}`;
    const limits = (login: string) =>
      `limits: { login: { policies: 5/h, onFailure: ${login} }, api: { policies: 1/h, onFailure: allow }, a: 1/h }`;
    const file = temporaryFile(limits('deny'));
    const server = await serving('', {
      config: [file],
      store: { url, deadline: '50ms', onFailure: 'throw' },
    });
    await redis.stop();
    const take = async (limit: string) => {
      const response = await server.post('/v1/take', { limit, key: 'x' });
      return response.status === 200
        ? ((await response.json()) as { allowed: boolean }).allowed
        : response.status;
    };
    expect([await take('login'), await take('api'), await take('api'), await take('a')]).toEqual([
      false,
      true,
      true,
      503,
    ]);
    const items = ['login', 'api'].map((limit) => ({ limit, key: 'x' }));
    expect(await (await server.post('/v1/take-many', { items })).json()).toMatchObject({ allowed: false });
    writeFileSync(file, limits('allow'));
    await server.reload();
    expect(await take('login')).toBe(true);
    await server.drain();
  });

  test('causes no denials if --on-failure is allow', async () => {
    const redis = await redisServer();
    const url = `redis://127.0.0.1:${redis.port}`;
    const server = await serving(LIMITS, { store: { url, deadline: '50ms', onFailure: 'allow' } });
    await redis.stop();
    const response = await server.post('/v1/take', QUESTION);
    expect(await response.json()).toMatchObject({ allowed: true, source: 'fallback' });
    await server.drain();
  });
});

test('missing permissions on the store give a 503 and are logged, even if --on-failure is allow', async () => {
  const redis = await redisServer();
  const url = `redis://127.0.0.1:${redis.port}`;
  const server = await serving(LIMITS, { store: { url, deadline: '5s', onFailure: 'allow' } });
  const control = new Redis(redis.port);
  await control.acl('SETUSER', 'default', '-evalsha');
  const response = await server.post('/v1/take', QUESTION);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ fault: 'no-permission' });
  expect(server.lines.join('')).toContain('ACL SETUSER <user> +evalsha');
  control.disconnect();
  await server.drain();
  await redis.stop();
});

/** Whether each of four takes is allowed. */
async function fourTakes({ post }: Serving): Promise<boolean[]> {
  const allowed: boolean[] = [];
  for (let i = 0; i < 4; i++) {
    const response = await post('/v1/take', QUESTION);
    allowed.push(((await response.json()) as { allowed: boolean }).allowed);
  }
  return allowed;
}

test('a Redis Cluster can be used as a store, even with a colon in its password', async () => {
  const password = 'a:b%';
  const node = await redisServer({
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--requirepass', password],
  });
  const client = new Redis(node.port, '127.0.0.1', { password });
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await expect.poll(() => client.call('CLUSTER', 'INFO'), { timeout: 10_000 }).toContain('cluster_state:ok');
  client.disconnect();
  const url = `redis+cluster://default:a:b%25@127.0.0.1:${node.port}`;
  const server = await serving(LIMITS, { store: { url, deadline: '5s' } });
  expect(await fourTakes(server)).toEqual([true, true, true, false]);
  await server.drain();
  await node.stop();
}, 30_000);

test('the server finds the master through Redis Sentinel', async () => {
  const master = await redisServer();
  const [port, folder] = [await freePort(), temporaryFolder()];
  const file = join(folder, 'sentinel.conf');
  const lines = [`port ${port}`, `dir ${folder}`, `sentinel monitor main 127.0.0.1 ${master.port} 1`];
  writeFileSync(file, lines.join('\n'));
  const sentinel = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  await listening(port, sentinel);
  const url = `redis+sentinel://main@127.0.0.1:${port}`;
  const server = await serving(LIMITS, { store: { url, deadline: '5s' } });
  expect(await fourTakes(server)).toEqual([true, true, true, false]);
  await server.drain();
  // These servers do not support TLS. With the TLS scheme, the client must fail instead of sending anything in plain text.
  const sealed = await serving(LIMITS, {
    store: { url: url.replace('redis+', 'rediss+'), deadline: '500ms', onFailure: 'throw' },
  });
  expect((await sealed.post('/v1/take', QUESTION)).status).toBe(503);
  await sealed.drain();
  sentinel.kill('SIGKILL');
  await master.stop();
}, 30_000);

describe('Postgres', () => {
  let stop = async (): Promise<void> => {};
  afterAll(() => stop());

  test('keeps the state of the limits in a table that the server creates', async () => {
    const postgres = await postgresServer();
    stop = () => postgres.stop();
    await postgres.pool().query('DROP TABLE sluice');
    const server = await serving(LIMITS, { store: { url: postgres.url, deadline: '5s' } });
    expect(await fourTakes(server)).toEqual([true, true, true, false]);
    await server.drain();
  }, 60_000);
});

test.each(['mysql://x', 'redis+cluster://', 'redis+sentinel://a:1', ''])(
  'the server rejects %j as a store',
  async (url) => {
    await expect(openStore({ url })).rejects.toThrow(UsageError);
  },
);

test.each([
  ['redis://127.0.0.1:1/0?tls=true', '"tls"; it accepts db, family'],
  ['rediss://127.0.0.1:1?family=4&rejectUnauthorized=s3cret', '"rejectUnauthorized"; it accepts db'],
  ['redis+cluster://127.0.0.1:1?tls=true', '"tls"; it accepts none'],
  ['postgres://127.0.0.1:1/db?sslmode=disable&sslmod=x', '"sslmod"; it accepts application_name'],
])('the server rejects an unknown parameter in the URL of a store: %s', async (url, message) => {
  const opening = openStore({ url });
  await expect(opening).rejects.toThrow(`--store has the unknown parameter ${message}`);
  await expect(opening).rejects.not.toThrow('s3cret');
});

test.each([
  ['redis://127.0.0.1:1?db=abc', 'the parameter db must be an integer of 0 or more; got "abc"'],
  [
    'redis://127.0.0.1:1/abc',
    'the path, which selects a database, must be an integer of 0 or more; got "abc"',
  ],
  ['rediss://127.0.0.1:1?family=5', 'the parameter family must be one of 4, 6; got "5"'],
  ['postgres://127.0.0.1:1/db?sslmode=requrie', 'the parameter sslmode must be one of disable, allow'],
  [
    'postgres://127.0.0.1:1/db?statement_timeout=5s',
    'the parameter statement_timeout must be a number of milliseconds, without a unit; got "5s"',
  ],
])('the server rejects an invalid value in the URL of a store: %s', async (url, message) => {
  await expect(openStore({ url })).rejects.toThrow(`--store is invalid: ${message}`);
});

test('the server rejects an empty host in a list of hosts, and does not show a password that contains a slash', async () => {
  await expect(openStore({ url: 'redis+cluster://a:1,,b:2' })).rejects.toThrow('empty host');
  const opening = openStore({ url: 'redis://user:s3/cret@127.0.0.1:1' });
  await expect(opening).rejects.toThrow('--store is not a valid URL: redis://user:***@127.0.0.1:1');
  await expect(opening).rejects.not.toThrow('cret');
});

test('the server closes its connections to a store that it cannot open', async () => {
  const redis = await redisServer();
  const url = `redis://127.0.0.1:${redis.port}`;
  await expect(openStore({ url, leases: { nodes: 0 } })).rejects.toThrow('nodes');
  const control = new Redis(redis.port);
  const clients = async () =>
    String(await control.client('LIST'))
      .trim()
      .split('\n').length;
  // The client connects in the background, so a client that is still open needs some time to appear.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await clients()).toBe(1);
  control.disconnect();
  await redis.stop();
});

test.each(['memory', 'redis://127.0.0.1:1'])(
  'an invalid deadline is rejected for the store %s',
  async (url) => {
    await expect(openStore({ url, deadline: '5parsecs' })).rejects.toThrow('store.deadline');
  },
);

test('the name of a store does not show the password', async () => {
  const { name, store } = await openStore({ url: 'redis://user:secret@127.0.0.1:1/2' });
  expect(name).toBe('redis://user:***@127.0.0.1:1/2');
  await store.close();
});
