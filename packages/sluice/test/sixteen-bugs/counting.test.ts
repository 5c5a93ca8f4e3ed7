/** Tests for bugs in counting. docs/sixteen-bugs.md describes each of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest';
import { createLimiter, type Decision, memory, slidingLog } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { random } from 'sluice-test-support/random.ts';
import { type Ask, someGap, someVerb } from '../stores/differential.ts';
import { CASES } from '../support/policies.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import {
  admitted,
  fastifyStores,
  type Flexible,
  incr,
  peer,
  type RateLimitRedis,
  type Rolling,
} from './peers.ts';
import { EVERY_STORE, kinds, open, passed, START } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
const own = `sixteen counting ${process.pid}`;
afterAll(() => client.disconnect());

describe('3. denied expensive calls that use up what is left', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(10, 60_000)))(
      '%s: a denied call charges nothing',
      async (_name, policy) => {
        const { limiter } = open(make, policy);
        await limiter.take('k', 7);
        for (let i = 0; i < 5; i++) {
          const refused = await limiter.take('k', 8);
          expect(refused).toMatchObject({ allowed: false, taken: 0, remaining: 3 });
        }
        expect((await limiter.take('k', 3)).allowed).toBe(true);
      },
    );
  });

  peer<Flexible>(
    'rate-limiter-flexible',
    'a denied call for 8 units uses up the 3 that are left',
    async (flexible) => {
      const limiter = new flexible.RateLimiterMemory({ points: 10, duration: 60 });
      await limiter.consume('k', 7);
      await expect(limiter.consume('k', 8)).rejects.toMatchObject({ remainingPoints: 0 });
      expect(await admitted(limiter, 'k', 3)).toBe(0);
    },
  );
});

describe('4. combined limits that use up each other', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test('does not charge one limit if the other denies', async () => {
      const { limiter } = open(make, { few: '2/min fixed-window', many: '10/day fixed-window' });
      expect(await passed(limiter, 'k', 50)).toBe(2);
      expect((await limiter.peek('k')).policies[1]?.remaining).toBe(8);
    });

    test('does not charge one limit if the other denies, with a separate key for each limit', async () => {
      const clock = manualClock(START);
      const store = make(clock);
      const perUser = createLimiter('2/min fixed-window', { store, name: 'user' });
      const perAddress = createLimiter('10/day fixed-window', { store, name: 'address' });
      let allowed = 0;
      for (let i = 0; i < 20; i++) {
        const items = [
          { limiter: perAddress, key: 'address' },
          { limiter: perUser, key: 'user' },
        ];
        if ((await perUser.takeMany(items)).allowed) allowed++;
      }
      expect(allowed).toBe(2);
      expect((await perAddress.peek('address')).remaining).toBe(8);
    });

    test('does not charge one limit if the other denies, with a separate key for each limit and concurrent calls', async () => {
      const store = make(manualClock(START));
      const perUser = createLimiter('2/min fixed-window', { store, name: 'user' });
      const perAddress = createLimiter('100/day fixed-window', { store, name: 'address' });
      const items = [
        { limiter: perAddress, key: 'address' },
        { limiter: perUser, key: 'user' },
      ];
      // On a store that does not decide takeMany in one step, all calls peek first and find enough units left. Calls whose
      // takes are too late refund what they were charged.
      const asked = Array.from({ length: 20 }, async () => perUser.takeMany(items));
      expect((await Promise.all(asked)).filter(({ allowed }) => allowed).length).toBe(2);
      await vi.waitFor(async () => expect((await perAddress.peek('address')).remaining).toBe(98));
    });
  });

  peer<Flexible>(
    'rate-limiter-flexible',
    'a union charges one limiter although the other denies',
    async (flexible) => {
      const few = new flexible.RateLimiterMemory({ points: 2, duration: 60, keyPrefix: 'few' });
      const many = new flexible.RateLimiterMemory({ points: 10, duration: 86_400, keyPrefix: 'many' });
      expect(await admitted(new flexible.RateLimiterUnion(few, many), 'k', 50)).toBe(2);
      expect((await many.get('k'))?.remainingPoints).toBe(0);
    },
  );
});

describe('5. rewards that create capacity', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(10, 60_000)))(
      '%s: a refund never exceeds the limit',
      async (_name, policy) => {
        const { limiter, clock } = open(make, policy);
        for (const used of [0, 4, 10]) {
          if (used > 0) await limiter.take('k', used);
          expect((await limiter.refund('k', 1000)).remaining).toBe(10);
          expect((await limiter.take('k', 11)).allowed).toBe(false);
          expect([used, await passed(limiter, 'k', 30)]).toEqual([used, 10]);
          await limiter.refund('k', 10);
        }
        // The same holds later, when the refunded units would have been replenished anyway.
        await limiter.take('k', 10);
        clock.advance(180_000);
        await limiter.refund('k', 10);
        expect(await passed(limiter, 'k', 30)).toBe(10);
      },
    );

    test('rejects a negative cost', async () => {
      const { limiter } = open(make, '10/min');
      for (const cost of [-1, Number.NaN, -Infinity]) {
        expect(() => limiter.take('k', cost)).toThrow(RangeError);
        expect(() => limiter.refund('k', cost)).toThrow(RangeError);
      }
    });
  });

  peer<Flexible>('rate-limiter-flexible', 'a reward of 90 raises a limit of 10 to 100', async (flexible) => {
    const limiter = new flexible.RateLimiterMemory({ points: 10, duration: 60 });
    await limiter.reward('k', 90);
    expect(await admitted(limiter, 'k', 200)).toBe(100);
  });
});

describe('11. checks that take longer the more hits there were', () => {
  const HITS = 30_000;
  const policy = slidingLog({ limit: 100_000, per: '1h' });
  let server: Server;
  let alone: Redis;
  /** Advances by a millisecond on every read. */
  let time = START;
  const clock = { now: () => ++time };
  const limiterOn = () =>
    createLimiter(policy, { store: redis(alone, { onFailure: 'throw', clock, deadline: '10s' }), name: own });

  beforeAll(async () => {
    server = await redisServer();
    alone = new Redis(server.port, '127.0.0.1');
    // Hits that one store sends together get the same time and share an entry. With many stores, each hit is an entry.
    const limiters = Array.from({ length: 100 }, limiterOn);
    await limiters[0].take('few');
    for (let i = 0; i < HITS; i += limiters.length)
      await Promise.all(limiters.map((limiter) => limiter.take('many')));
    expect(await alone.strlen(`${own}:{many}`)).toBeGreaterThan(16 * HITS);
  });
  afterAll(async () => {
    alone.disconnect();
    await server.stop();
  });

  test('Redis replies with the same number of bytes for 30,000 recorded hits as for one', async () => {
    const limiter = limiterOn();
    const few = await bytesOf(alone, () => limiter.peek('few'), 5);
    expect(await bytesOf(alone, () => limiter.peek('many'), 5)).toBeLessThan(few + 200);
  });

  test('Redis needs no more time for 30,000 recorded hits than for one', async () => {
    const limiter = limiterOn();
    /**
     * Returns the time of a check in microseconds, as measured by the server. It is the minimum of several checks, because a
     * check may be interrupted.
     */
    const work = async (key: string, cost: number) => {
      let least = Infinity;
      for (let round = 0; round < 20; round++) {
        await alone.config('RESETSTAT');
        await limiter.peek(key, cost);
        const stats = await alone.info('commandstats');
        least = Math.min(least, Number(/cmdstat_evalsha:calls=1,usec=(\d+)/.exec(stats)?.[1]));
      }
      return least;
    };
    // Reading 30,000 entries would take more than a millisecond.
    const quick = 4 * (await work('few', 1)) + 200;
    expect(await work('many', 1)).toBeLessThan(quick);
    expect(await work('many', 90_000)).toBeLessThan(quick);
    // Most entries have expired, but no call has removed them yet.
    time += 3_595_000;
    expect((await limiter.peek('many')).remaining).toBeGreaterThan(90_000);
    expect(await work('many', 1)).toBeLessThan(quick);
  });

  test('the memory store needs no more time for 50,000 recorded hits than for one', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter(slidingLog({ limit: 100_000, per: '1h' }), { store });
    const nanos = (key: string, cost: number) => {
      let best = Infinity;
      for (let round = 0; round < 20; round++) {
        const start = process.hrtime.bigint();
        for (let i = 0; i < 20; i++) limiter.peek(key, cost);
        best = Math.min(best, Number(process.hrtime.bigint() - start) / 20);
      }
      return best;
    };
    limiter.take('few');
    for (let i = 0; i < 50_000; i++) {
      clock.advance(1);
      limiter.take('many');
    }
    nanos('few', 1);
    // There are 50,000 times as many hits; a hundredth of that factor would stand out from noise.
    const quick = 20 * nanos('few', 1) + 10_000;
    expect(nanos('many', 1)).toBeLessThan(quick);
    expect(nanos('many', 90_000)).toBeLessThan(quick);
    // Most entries have expired, but no call has removed them yet.
    clock.advance(3_595_000);
    expect(limiter.peek('many').remaining).toBeGreaterThan(90_000);
    expect(nanos('many', 1)).toBeLessThan(quick);
  });

  peer<Rolling>('rolling-rate-limiter', 'Redis sends all hits for every check', async (rolling) => {
    const options = { client, namespace: `${own} rolling `, interval: 3_600_000, maxInInterval: 10_000 };
    const limiter = new rolling.IORedisRateLimiter(options);
    const few = await bytesOf(client, () => limiter.limit('k'), 5);
    const now = Date.now() * 1000;
    const hits = Array.from({ length: 1000 }, (_, i) => [now - i, `hit ${i}`]);
    await client.zadd(`${own} rolling k`, ...hits.flat());
    expect(await bytesOf(client, () => limiter.limit('k'), 5)).toBeGreaterThan(few + 30 * 1000);
  });

  /**
   * Returns the bytes that the server sent for one call. It is the minimum of several calls, because other clients may use the
   * server.
   */
  async function bytesOf(from: Redis, call: () => Promise<unknown>, rounds: number): Promise<number> {
    const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await from.info('stats'))?.[1]);
    let least = Infinity;
    for (let i = 0; i < rounds; i++) {
      const before = await sent();
      await call();
      least = Math.min(least, (await sent()) - before);
    }
    return least;
  }
});

describe('12. resets that leave a count of −1', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(3, 60_000)))(
      '%s: a refund after a reset has no effect',
      async (_name, policy) => {
        const { limiter } = open(make, policy);
        await limiter.take('k', 2);
        await limiter.reset('k');
        expect((await limiter.peek('k')).remaining).toBe(3);
        await limiter.refund('k', 2);
        await limiter.release('k', 1);
        expect((await limiter.peek('k')).remaining).toBe(3);
        expect(await passed(limiter, 'k', 10)).toBe(3);

        // The same holds if the key was charged again after the reset, and the refund is larger than that charge.
        await limiter.reset('k');
        await limiter.take('k');
        await limiter.refund('k', 3);
        expect(await passed(limiter, 'k', 10)).toBe(3);
      },
    );
  });

  test('a reset deletes the key on Redis', async () => {
    for (const [name, policy] of Object.entries(kinds(3, 60_000))) {
      const limiter = createLimiter(policy, {
        store: redis(client, { onFailure: 'throw', deadline: '10s' }),
        name: `${own} reset ${name}`,
      });
      await limiter.take('k', 2);
      await limiter.reset('k');
      await limiter.refund('k', 2);
      expect([name, await client.exists(`${own} reset ${name}:{k}`)]).toEqual([name, 0]);
    }
  });

  peer<RateLimitRedis>(
    'rate-limit-redis',
    'a hit refunded after a reset leaves −1 forever',
    async ({ RedisStore }) => {
      const prefix = `${own} hits `;
      const sendCommand = (...[word = '', ...rest]: string[]) => client.call(word, ...rest);
      const store = new RedisStore({ sendCommand, prefix });
      await store.init({ windowMs: 60_000 });
      await store.increment('k');
      await store.resetKey('k');
      await store.decrement('k');
      expect([await client.get(`${prefix}k`), await client.pttl(`${prefix}k`)]).toEqual(['-1', -1]);
      await client.del(`${prefix}k`);
    },
  );
});

describe('14. stores that disagree', () => {
  /** Milliseconds. At these times a float64 has a resolution of a quarter of a microsecond. */
  const EDGES = [0, 0.00025, 0.0005, 0.00075, 0.001];

  test.each(Object.entries(CASES))(
    'all stores return exactly the same numbers: %s',
    async (name, { policies }) => {
      const opened = EVERY_STORE.map(([, make]) => open(make, policies));
      const draw = random(name.length);
      const go = (gap: number) => {
        for (const { clock } of opened) clock.set(clock.now() + gap);
      };
      const agree = async (ask: Ask) => {
        const [first, ...others] = await Promise.all(opened.map(({ limiter }) => ask(limiter)));
        for (const other of others) expect(other).toEqual(first);
        return first;
      };
      for (let i = 0; i < 60; i++) {
        go(someGap(draw));
        await agree(someVerb(draw));
        // Checks at times when stores could differ: at the announced instant, and within the tolerance before it.
        const [key, cost] = [`key ${draw(4)}`, 1 + draw(30) / 10];
        const { retryAfter } = (await agree((limiter) => limiter.peek(key, cost))) as Decision;
        if (retryAfter === 0 || retryAfter === Infinity) continue;
        go(retryAfter - (EDGES[draw(EDGES.length)] ?? 0));
        const mode = draw(2) === 0 ? 'whole' : 'partial';
        await agree((limiter) => limiter.take(key, { cost, mode }));
      }
    },
  );

  peer<unknown>(
    '@fastify/rate-limit',
    'with exponentialBackoff, memory allows what Redis still denies',
    async () => {
      const { local, redis: onRedis } = fastifyStores();
      const WINDOW = 400;
      let tries = 0;
      await punctually(100, async () => {
        const stores = [
          new local(false, true),
          new onRedis(false, true, client, `${own} fastify ${++tries} `),
        ];
        const current = (store: (typeof stores)[number]) =>
          incr(store, 'k', WINDOW, 1).then((hit) => hit.current);
        for (let i = 0; i < 4; i++) await Promise.all(stores.map(current));
        // Redis blocks for four windows.
        await sleep(WINDOW + 50);
        expect(await Promise.all(stores.map(current))).toEqual([1, 5]);
      });
    },
  );
});
