/** Tests for bugs with waiting and concurrency. docs/sixteen-bugs.md describes each of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  casStore,
  createLimiter,
  type Decision,
  type MaybePromise,
  memory,
  type Store,
  StoreUnavailable,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { outcome, unpunctuality, until } from 'sluice-test-support/redis/watch.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { type Flexible, peer, type RateLimitRedis, type Rolling } from './peers.ts';
import { kinds } from './stores.ts';

const own = `sixteen servers ${process.pid}`;

describe('15. callers that hang when the store hangs', () => {
  let server: Server;
  let client: Redis;
  beforeAll(async () => {
    server = await redisServer();
    client = new Redis(server.port, '127.0.0.1');
    client.on('error', () => {});
    await client.ping();
  });
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });

  async function whileStopped(test: () => Promise<void>): Promise<void> {
    server.process.kill('SIGSTOP');
    try {
      await test();
    } finally {
      server.process.kill('SIGCONT');
    }
  }

  test('every check is answered according to onFailure, soon after the deadline', async () => {
    const answers = { throw: undefined, allow: true, deny: false } as const;
    for (const [onFailure, allowed] of Object.entries(answers)) {
      const store = redis(client, { deadline: 50, onFailure: onFailure as keyof typeof answers });
      const limiter = createLimiter('100/min', { store, name: 'api' });
      // Calls held up by the previous pause are answered first.
      await client.ping();
      await until(async () => (await outcome(() => limiter.peek('a'))).value?.source === 'store');
      await whileStopped(async () => {
        const late = unpunctuality();
        const outcomes = await Promise.all(
          Array.from({ length: 200 }, (_, i) => outcome(() => limiter.take(`key ${i}`))),
        );
        const lateness = late.stop();
        for (const { value, error, took } of outcomes) {
          expect(took).toBeLessThan(1000 + lateness);
          if (onFailure === 'throw') expect(error).toBeInstanceOf(StoreUnavailable);
          else expect(value).toMatchObject({ allowed, source: 'fallback' });
        }
      });
    }
  });

  test('a store that has never answered times out after two seconds', async () => {
    await client.ping();
    const never = { get: () => new Promise<undefined>(() => {}), put: async () => true };
    const stores = [redis(client, { onFailure: 'throw' }), casStore(never, { onFailure: 'throw' })];
    await whileStopped(async () => {
      for (const store of stores) {
        const limiter = createLimiter('100/min', { store, name: own });
        const late = unpunctuality();
        const answer = outcome(() => limiter.take('k'));
        const first = await Promise.race([answer, sleep(5000, undefined)]);
        expect(first?.error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', fault: 'deadline' });
        expect(first?.took).toBeGreaterThan(1900);
        expect(first?.took).toBeLessThan(3000 + late.stop());
      }
    });
  });

  peer<RateLimitRedis>('rate-limit-redis', 'a check never settles', async ({ RedisStore }) => {
    const sendCommand = (...[word = '', ...rest]: string[]) => client.call(word, ...rest);
    const store = new RedisStore({ sendCommand, prefix: own });
    await store.init({ windowMs: 60_000 });
    await store.increment('k');
    await whileStopped(async () => {
      const checked = Promise.resolve(store.increment('k')).then(() => 'answered');
      expect(await Promise.race([checked, sleep(700, 'hangs')])).toBe('hangs');
    });
  });

  peer<Flexible>('rate-limiter-flexible', 'a check never settles', async (flexible) => {
    const limiter = new flexible.RateLimiterRedis({ storeClient: client, points: 5, duration: 60 });
    await limiter.consume('k');
    await whileStopped(async () => {
      const checked = limiter.consume('k').then(() => 'answered');
      expect(await Promise.race([checked, sleep(700, 'hangs')])).toBe('hangs');
    });
  });
});

describe('16. concurrent calls that exceed the limit', () => {
  const clients = Array.from({ length: 4 }, () => new Redis(inject('redisPort'), '127.0.0.1'));
  afterAll(() => void clients.map((client) => client.disconnect()));

  /** A store whose answers arrive late and in any order. */
  function slowService() {
    const kept = new Map<string, { value: Uint8Array; version: number }>();
    let version = 0;
    return {
      async get(key: string) {
        const found = kept.get(key);
        await sleep(Math.random() * 2);
        return found;
      },
      async put(key: string, value: Uint8Array, expected: number | undefined) {
        await sleep(Math.random() * 2);
        if (kept.get(key)?.version !== expected) return false;
        kept.set(key, { value, version: ++version });
        return true;
      },
    };
  }

  const service = slowService();
  const FOUR: Readonly<Record<string, () => Store<MaybePromise<Decision>>[]>> = {
    memory: () => Array<Store>(4).fill(memory()),
    'redis 7': () => clients.map((client) => redis(client, { onFailure: 'throw', deadline: '30s' })),
    'compare and swap': () => clients.map(() => casStore(service, { onFailure: 'throw', deadline: '30s' })),
  };

  describe.each(Object.entries(FOUR))('%s', (_, make) => {
    test.each(Object.entries(kinds(10, 3_600_000)))(
      '%s: exactly 10 of 64 concurrent calls through four stores pass',
      async (kind, policy) => {
        const limiters = make().map((store) => createLimiter(policy, { store, name: `${own} ${kind}` }));
        const calls = (key: string) =>
          Promise.all(Array.from({ length: 64 }, async (_unused, i) => limiters[i % 4].take(key)));
        expect((await calls('k')).filter(({ allowed }) => allowed).length).toBe(10);
        // The same must hold for an existing key, so the state that is read must not be stale.
        await limiters[0].take('known');
        expect((await calls('known')).filter(({ allowed }) => allowed).length).toBe(9);
      },
    );
  });

  test('a limiter that reads, decides and then writes exceeds the limit', async () => {
    const key = `${own} read then write`;
    const take = async (client: Redis): Promise<boolean> => {
      const used = Number((await client.get(key)) ?? 0);
      if (used >= 10) return false;
      await client.set(key, used + 1, 'PX', 60_000);
      return true;
    };
    const calls = await Promise.all(Array.from({ length: 64 }, (_, i) => take(clients[i % 4])));
    expect(calls.filter((allowed) => allowed).length).toBeGreaterThan(10);
  });
});

describe('20. limiters that keep their process alive', () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  test('keys need no timers', async () => {
    const before = timers();
    const limiter = createLimiter({ rate: '5/h', log: '5/h sliding-log' });
    for (let i = 0; i < 1000; i++) limiter.take(`key ${i}`);
    limiter.block('k', '1h');
    expect(timers()).toBeLessThanOrEqual(before);
  });

  peer<Rolling>(
    'rolling-rate-limiter',
    'in memory, each key keeps the process alive for a window',
    async (rolling) => {
      const before = timers();
      const limiter = new rolling.InMemoryRateLimiter({ interval: 3_600_000, maxInInterval: 5 });
      const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`);
      for (const key of keys) await limiter.limit(key);
      // Timers of other code may have ended in between.
      expect(timers()).toBeGreaterThanOrEqual(before + 30);
      for (const key of keys) await limiter.clear(key);
    },
  );
});
