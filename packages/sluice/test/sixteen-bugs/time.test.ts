/** Tests for bugs with time. docs/sixteen-bugs.md describes each of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, inject, test, vi } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  leased,
  memory,
  slidingLog,
  type Store,
  synced,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { random } from 'sluice-test-support/random.ts';
import {
  admitted,
  fastifyStores,
  type Flexible,
  type HitStore,
  incr,
  partOf,
  peer,
  type Rolling,
  type Upstash,
  upstashClient,
} from './peers.ts';
import { EVERY_STORE, kinds, open, passed, START } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
const own = `sixteen time ${process.pid}`;
afterAll(() => client.disconnect());
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const DAY = 86_400_000;
/** Milliseconds. JavaScript timers for longer than this fire immediately. */
const LONGEST_TIMER = 2 ** 31;

describe('1. windows of 30 days that never limit', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(1, 30 * DAY)))(
      '%s denies until the announced instant',
      async (_name, policy) => {
        const { limiter, clock } = open(make, policy);
        expect((await limiter.take('k')).allowed).toBe(true);
        const { allowed, retryAfter } = await limiter.take('k');
        expect(allowed).toBe(false);
        // The first window of an aligned policy may be short; the next one is not.
        clock.advance(retryAfter);
        expect((await limiter.take('k')).allowed).toBe(true);
        const again = await limiter.take('k');
        expect(again.retryAfter).toBeGreaterThan(LONGEST_TIMER);
        const since = clock.now();
        for (const wait of [1, 1000, DAY, LONGEST_TIMER + 1, again.retryAfter - 1]) {
          clock.set(since + wait);
          expect((await limiter.take('k')).allowed).toBe(false);
        }
        clock.set(since + again.retryAfter);
        expect((await limiter.take('k')).allowed).toBe(true);
      },
    );
  });

  test('in real time, a key stays exhausted or blocked, and waiting callers are not woken', async () => {
    const stores: Store[] = [
      memory(),
      sharedMemory({ maxKeys: 100 }),
      redis(client, { onFailure: 'throw', deadline: '10s' }),
    ];
    for (const store of stores) {
      const limiter = createLimiter(slidingLog({ limit: 1, per: '30d' }), { store, name: own });
      await limiter.take('k');
      await limiter.block('blocked', '30d');
      const leave = new AbortController();
      const turn = limiter.acquire('k', { signal: leave.signal }).then(
        () => 'came',
        () => 'gave up',
      );
      await sleep(30);
      expect((await limiter.take('k')).allowed).toBe(false);
      expect((await limiter.take('blocked')).retryAfter).toBeGreaterThan(LONGEST_TIMER);
      leave.abort();
      expect(await turn).toBe('gave up');
    }
    expect(await client.pttl(`${own}:{k}`)).toBeGreaterThan(LONGEST_TIMER);
  });

  test('no timer exceeds the longest duration that timers support', async () => {
    // Node warns about each longer timer. Code that set one would retry every millisecond.
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const stores: Store[] = [
      memory(),
      redis(client, { onFailure: 'throw', deadline: '30d' }),
      leased(redis(client, { onFailure: 'throw', deadline: '10s' })),
      synced(redis(client, { onFailure: 'throw', deadline: '10s' }), { every: '30d' }),
    ];
    for (const [i, store] of stores.entries()) {
      const limiter = createLimiter('100000/365d', { store, name: `${own} timers ${i}` });
      await limiter.take('k');
      await limiter.block('k', '300d');
      const leave = new AbortController();
      const turn = limiter
        .acquire('k', { signal: leave.signal, timeout: '60d' })
        .catch((error: Error) => error.name);
      await sleep(20);
      leave.abort();
      expect(await turn).toBe('AbortError');
      await store.close();
    }
    expect(warned.mock.calls).toEqual([]);
  });

  peer<Flexible>(
    'rate-limiter-flexible',
    'in memory, a window above 24.8 days ends immediately',
    async (flexible) => {
      vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const limiter = new flexible.RateLimiterMemory({ points: 1, duration: 30 * 86_400 });
      await limiter.consume('k');
      await sleep(30);
      expect(await admitted(limiter, 'k', 1)).toBe(1);
    },
  );
});

describe('2. durations below a second that block forever', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    describe.each([250, 0.5])('with a window of %d ms,', (per) => {
      test.each(Object.entries(kinds(2, per)))(
        '%s admits units again at the announced instant',
        async (_name, policy) => {
          const { limiter, clock } = open(make, policy);
          // In each of ten windows, a call passes at the announced time.
          for (let i = 0; i < 10; i++) {
            expect(await passed(limiter, 'k', 5)).toBeGreaterThanOrEqual(1);
            const { allowed, retryAfter } = await limiter.peek('k', 2);
            expect(allowed).toBe(false);
            expect(retryAfter).toBeLessThanOrEqual(2 * per);
            clock.advance(retryAfter);
          }
        },
      );
    });

    test('a block of 50 ms ends after 50 ms', async () => {
      const { limiter, clock } = open(make, '5/s');
      await limiter.block('k', 50);
      clock.advance(49.9);
      expect((await limiter.take('k')).allowed).toBe(false);
      clock.advance(0.1);
      expect((await limiter.take('k')).allowed).toBe(true);
    });
  });

  test('Redis expires the state of a 250 ms window soon after its end', async () => {
    for (const [name, policy] of Object.entries(kinds(2, 250))) {
      const limiter = createLimiter(policy, {
        store: redis(client, { onFailure: 'throw', deadline: '10s' }),
        name: `${own} short ${name}`,
      });
      await limiter.take('k', 2);
      const left = await client.pttl(`${own} short ${name}:{k}`);
      expect(left).not.toBe(-1);
      expect(left).toBeLessThanOrEqual(750);
    }
  });

  peer<Flexible>(
    'rate-limiter-flexible',
    'on Redis, a window of half a second never ends',
    async (flexible) => {
      const keyPrefix = `${own} flexible`;
      const limiter = new flexible.RateLimiterRedis({
        storeClient: client,
        points: 1,
        duration: 0.5,
        keyPrefix,
      });
      await limiter.consume('k');
      expect(await client.pttl(`${keyPrefix}:k`)).toBe(-1);
      await client.del(`${keyPrefix}:k`);
    },
  );
});

describe('6. client clocks that create capacity', () => {
  const HOUR = 3_600_000;
  const skewed = (by: number) => {
    const [date, monotonic] = [Date.now.bind(Date), performance.now.bind(performance)];
    vi.spyOn(Date, 'now').mockImplementation(() => date() + by);
    vi.spyOn(performance, 'now').mockImplementation(() => monotonic() + by);
  };

  // Test each policy separately: combined, the one that denies longest would hide errors of the others.
  const policies = {
    rate: '3/h',
    log: '3/h sliding-log',
    window: '3/h sliding-window',
    year: fixedWindow({ limit: 3, align: 'year' }),
    day: fixedWindow({ limit: 3, align: 'day' }),
  };
  describe.each([HOUR, -HOUR, 240 * HOUR, -240 * HOUR])('a client whose clock is off by %i ms', (by) => {
    test.each(Object.entries(policies))(
      'is neither denied longer nor admitted more often by Redis: %s',
      async (kind, policy) => {
        const open = (name: string) =>
          createLimiter(policy, {
            store: redis(client, { onFailure: 'throw', deadline: '10s' }),
            name: `${own} ${by} ${kind} ${name}`,
          });
        const first = open('after');
        await first.take('k', 3);
        const before = await first.peek('k');
        skewed(by);
        for (let i = 0; i < 5; i++) expect((await open('after').take('k')).allowed).toBe(false);
        expect(await passed(open('before'), 'k', 5)).toBe(3);
        vi.restoreAllMocks();
        expect((await first.take('k')).retryAfter).toBeLessThanOrEqual(before.retryAfter);
        const other = await open('before').take('k');
        expect(other.allowed).toBe(false);
        expect(other.resetAfter).toBeLessThanOrEqual(before.resetAfter + 10_000);
      },
    );
  });

  test('the memory store ignores jumps of the wall clock', () => {
    const limiter = createLimiter({ rate: '3/h', window: '3/h sliding-log' });
    limiter.take('k', 3);
    const { retryAfter } = limiter.take('k');
    const date = Date.now.bind(Date);
    for (const by of [HOUR, -HOUR, 1000 * HOUR]) {
      vi.spyOn(Date, 'now').mockImplementation(() => date() + by);
      expect(limiter.take('k').retryAfter).toBeGreaterThan(retryAfter - 10_000);
      expect(limiter.take('k').retryAfter).toBeLessThanOrEqual(retryAfter);
    }
  });

  peer<Upstash>(
    '@upstash/ratelimit',
    'a client whose clock is an hour ahead gets its own window',
    async ({ Ratelimit }) => {
      const options = {
        redis: upstashClient(client),
        ephemeralCache: false as const,
        prefix: `${own} upstash`,
      };
      const limiter = new Ratelimit({ ...options, limiter: Ratelimit.fixedWindow(1, '1 h') });
      expect((await limiter.limit('k')).success).toBe(true);
      expect((await limiter.limit('k')).success).toBe(false);
      skewed(HOUR);
      expect((await limiter.limit('k')).success).toBe(true);
    },
  );

  peer<Rolling>(
    'rolling-rate-limiter',
    "a client whose clock is an hour ahead deletes everyone's hits",
    async (rolling) => {
      const options = { client, namespace: `${own} rolling `, interval: HOUR, maxInInterval: 1 };
      const limiter = new rolling.IORedisRateLimiter(options);
      expect(await limiter.limit('k')).toBe(false);
      expect(await limiter.limit('k')).toBe(true);
      const microtime = partOf<{ now(): number }>('microtime');
      const now = microtime.now.bind(microtime);
      vi.spyOn(microtime, 'now').mockImplementation(() => now() + 1000 * (HOUR + 1000));
      expect(await limiter.limit('k')).toBe(false);
    },
  );
});

describe('13. twice the limit in a rolling second', () => {
  const LIMIT = 10;
  /** The maximum number admitted within any second. */
  function densest(taken: readonly number[]): number {
    return Math.max(...taken.map((from) => taken.filter((at) => at >= from && at < from + 1000).length));
  }

  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(['exact', 7] as const)(
      'a sliding log never admits more than the limit (resolution: %s)',
      async (resolution) => {
        const { limiter, clock } = open(make, slidingLog({ limit: LIMIT, per: '1s', resolution }));
        const draw = random(1);
        const taken: number[] = [];
        const tryAt = async (at: number, calls: number) => {
          clock.set(START + at);
          for (let i = 0; i < calls; i++) if ((await limiter.take('k')).allowed) taken.push(at);
        };
        // The first calls are on both sides of the boundary of a second, where fixed windows admit twice the limit. The other calls
        // are at random times.
        await tryAt(990, 12);
        await tryAt(1000, 12);
        for (let at = 1100; at < 5000; at += 1 + draw(300)) await tryAt(at, draw(12));
        expect(densest(taken)).toBeLessThanOrEqual(LIMIT);
        expect(taken.length).toBeGreaterThanOrEqual(2 * LIMIT);
      },
    );

    test('a constant rate without a burst admits at most one unit more than the limit', async () => {
      const { limiter, clock } = open(make, '10/s burst 1');
      const taken: number[] = [];
      for (let at = 0; at < 3000; at += 10) {
        clock.set(START + at);
        if ((await limiter.take('k')).allowed) taken.push(at);
      }
      expect(densest(taken)).toBeLessThanOrEqual(LIMIT);
    });
  });

  peer<{ MemoryStore: new () => HitStore }>(
    'express-rate-limit',
    'a window of one second with a limit of 10 admits 19 calls within 10 ms',
    async ({ MemoryStore }) => {
      vi.useFakeTimers({ now: START });
      const store = new MemoryStore();
      store.init({ windowMs: 1000 });
      const allowed = async (calls: number) => {
        let count = 0;
        for (let i = 0; i < calls; i++) if ((await store.increment('k')).totalHits <= LIMIT) count++;
        return count;
      };
      expect(await allowed(1)).toBe(1);
      vi.setSystemTime(START + 990);
      const before = await allowed(20);
      vi.setSystemTime(START + 1000);
      expect(before + (await allowed(20))).toBe(19);
    },
  );
});

describe('17. announced waits that are wrong', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(3, 700)))(
      '%s denies until the announced instant and allows at that instant',
      async (_name, policy) => {
        const { limiter, clock } = open(make, policy);
        const draw = random(3);
        for (let i = 0; i < 12; i++) {
          clock.advance(draw(400));
          await passed(limiter, 'k', 3);
          const { allowed, retryAfter } = await limiter.take('k', 2);
          if (allowed) continue;
          const now = clock.now();
          for (const early of [retryAfter / 2, retryAfter - 0.01]) {
            clock.set(now + early);
            expect((await limiter.peek('k', 2)).allowed).toBe(false);
          }
          clock.set(now + retryAfter);
          expect((await limiter.take('k', 2)).allowed).toBe(true);
        }
      },
    );
  });

  peer<unknown>(
    '@fastify/rate-limit',
    'with exponentialBackoff in memory, four windows are announced but one is enforced',
    async () => {
      vi.useFakeTimers({ now: START });
      const store = new (fastifyStores().local)(false, true);
      for (let i = 0; i < 3; i++) await incr(store, 'k', 1000, 1);
      expect((await incr(store, 'k', 1000, 1)).ttl).toBe(4000);
      vi.setSystemTime(START + 1000);
      expect((await incr(store, 'k', 1000, 1)).current).toBe(1);
    },
  );
});
