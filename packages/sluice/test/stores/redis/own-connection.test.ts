/** The store uses its own connection, which the application's client configures, opens and closes. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { redis, type RedisClient } from '../../../src/stores/redis/index.ts';
import { CLIENTS, ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, until } from 'sluice-test-support/redis/watch.ts';

let server: Server;
let control: Redis;
beforeAll(async () => {
  server = await redisServer();
  control = ioredis(server.port);
});
afterAll(async () => {
  control.disconnect();
  await server.stop();
});

function limiterOn(client: RedisClient, name: string) {
  const store = redis(client, { deadline: '10s', onFailure: 'throw' });
  return { store, limiter: createLimiter('10/h', { store, name }) };
}

/** Number of connections to the server, not counting the connection that sends this query. */
async function connections(): Promise<number> {
  return (
    String(await control.client('LIST'))
      .trim()
      .split('\n').length - 1
  );
}

describe("the store's own connection", () => {
  test('uses the key prefix and the database of ioredis, even if the database is selected later', async () => {
    const client = new Redis({ port: server.port, keyPrefix: 'shop:', db: 3 });
    await client.select(5);
    await limiterOn(client, 'prefixed').limiter.take('a');
    await control.select(5);
    expect(await control.keys('*prefixed*')).toEqual(['shop:prefixed:{a}']);
    await control.select(0);
    client.disconnect();
  });

  test('uses the database and the user of node-redis', async () => {
    await control.acl('SETUSER', 'app', 'on', '>secret', '~mine:*', '+@all');
    const client = createClient({ url: `redis://app:secret@127.0.0.1:${server.port}/4` });
    expect((await limiterOn(client, 'mine').limiter.take('a')).remaining).toBe(9);
    expect((await outcome(() => limiterOn(client, 'theirs').limiter.take('a'))).error).toMatchObject({
      code: 'ERR_PERMISSION',
    });
    await control.select(4);
    expect(await control.keys('*')).toEqual(['mine:{a}']);
    await control.select(0);
  });

  test('works with a client that subscribes, and with a client that rejects commands while it is offline', async () => {
    const subscriber = ioredis(server.port);
    await subscriber.subscribe('news');
    expect((await limiterOn(subscriber, 'subscriber').limiter.take('a')).remaining).toBe(9);
    subscriber.disconnect();
    const eager = new Redis({ port: server.port, lazyConnect: true, enableOfflineQueue: false });
    expect((await limiterOn(eager, 'eager').limiter.take('a')).remaining).toBe(9);
    expect(eager.status).toBe('wait');
    eager.disconnect();
  });

  test('is opened by the first check, shared by all stores of a client, and closed with the last of these stores', async () => {
    const before = await connections();
    const client = new Redis({ port: server.port, lazyConnect: true });
    const [first, second] = [limiterOn(client, 'first'), limiterOn(client, 'second')];
    expect(await connections()).toBe(before);
    await Promise.all([first.limiter.take('a'), second.limiter.take('a')]);
    expect(await connections()).toBe(before + 1);
    await first.store.close();
    await first.store.close();
    expect((await second.limiter.take('a')).remaining).toBe(8);
    await second.store.close();
    await until(async () => (await connections()) === before);
  });

  test.each(Object.entries(CLIENTS))(
    'is closed when the application closes the client with %s',
    async (_, connect) => {
      const before = await connections();
      const connected = await connect(server.port);
      const { limiter } = limiterOn(connected.client, 'closed');
      await limiter.take('a');
      await connected.close();
      await until(async () => (await connections()) <= before);
      expect((await outcome(() => limiter.take('a'))).error).toMatchObject({ fault: 'connection' });
      expect(await connections()).toBeLessThanOrEqual(before);
    },
  );

  test('is no longer used once quit() of ioredis has returned', async () => {
    const client = ioredis(server.port);
    const { limiter } = limiterOn(client, 'quit');
    await limiter.take('a');
    await client.quit();
    expect((await outcome(() => limiter.take('a'))).error).toMatchObject({ fault: 'connection' });
  });

  test('is reopened when its client is reopened', async () => {
    const client = createClient({ url: `redis://127.0.0.1:${server.port}` }).on('error', () => {});
    await client.connect();
    const { limiter } = limiterOn(client, 'again');
    await limiter.take('a');
    await client.close();
    expect((await outcome(() => limiter.take('a'))).error).toMatchObject({ fault: 'connection' });
    await client.connect();
    expect((await limiter.take('a')).remaining).toBe(8);
    client.destroy();
  });

  test('is required if ioredis may send a command twice, so a client that cannot be duplicated is rejected', () => {
    const client = ioredis(server.port);
    onTestFinished(() => client.disconnect());
    const wrapped = (options: object): RedisClient =>
      ({ evalshaBuffer() {}, evalBuffer() {}, options }) as RedisClient;
    expect(() => redis(wrapped(client.options))).toThrow('create it with maxRetriesPerRequest: 0');
    expect(() => redis(wrapped({ maxRetriesPerRequest: 0 }))).not.toThrow();
  });
});

describe('a process', () => {
  const SCRIPT = fileURLToPath(new URL('leave.mjs', import.meta.url));
  const running = new Set<ChildProcess>();
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL');
  });

  async function start(port: number, kind: string, what: string): Promise<ChildProcess> {
    const child = fork(SCRIPT, [String(port), kind, what]);
    running.add(child);
    child.once('exit', () => running.delete(child));
    const [remaining] = await once(child, 'message', { signal: AbortSignal.timeout(30_000) });
    expect(remaining).toBe(9);
    return child;
  }

  test.each(['ioredis', 'node-redis', 'node-redis 3', 'node-redis 4', 'valkey-glide'])(
    'exits after it has closed its client: %s',
    async (kind) => {
      await control.flushall();
      const child = await start(server.port, kind, 'close the client');
      expect(await once(child, 'exit', { signal: AbortSignal.timeout(15_000) })).toEqual([0, null]);
    },
  );

  test.each(['a cluster of ioredis', 'a cluster of node-redis'])(
    'exits after it has closed its client: %s',
    async (kind) => {
      const node = await redisServer({ args: ['--cluster-enabled', 'yes'] });
      onTestFinished(() => node.stop());
      const admin = ioredis(node.port);
      await admin.config('SET', 'cluster-announce-ip', '127.0.0.1');
      await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
      await until(async () => String(await admin.cluster('INFO')).includes('cluster_state:ok'));
      admin.disconnect();
      const child = await start(node.port, kind, 'close the client');
      expect(await once(child, 'exit', { signal: AbortSignal.timeout(15_000) })).toEqual([0, null]);
    },
  );

  test.each(['ioredis that is not connected', 'node-redis that is not connected'])(
    "is not kept alive by the store's connection: %s",
    async (kind) => {
      await control.flushall();
      const child = await start(server.port, kind, 'nothing');
      expect(await once(child, 'exit', { signal: AbortSignal.timeout(15_000) })).toEqual([0, null]);
    },
  );

  test.each(['node-redis', 'node-redis 3', 'node-redis 4'])(
    'survives a lost connection without an error listener, and emits a warning: %s',
    async (kind) => {
      const flaky = await redisServer();
      const child = await start(flaky.port, kind, 'stay');
      const warned = once(child, 'message', { signal: AbortSignal.timeout(15_000) });
      await flaky.stop();
      expect(String((await warned)[0])).toContain("add client.on('error', …)");
      expect(child.exitCode).toBe(null);
      child.send('go');
      expect(await once(child, 'exit')).toEqual([0, null]);
    },
  );
});
