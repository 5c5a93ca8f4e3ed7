import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  InMemoryRateLimiter,
  rateLimiterFactory,
  type RateLimiterFactoryOptions,
  type RateLimiterOptions,
  RedisRateLimiter,
  type RedisRateLimiterOptions,
  type RollingResult,
} from '../src/rolling-window.ts';
import { redis } from 'sluice/redis';
import { manualClock } from 'sluice/testing';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { STORES } from './stores.ts';
import { isCoarse, scenarios as risingstackScenarios } from 'sluice-test-support/vectors/risingstack.ts';
import { acknowledgedIn, classdojo, risingstack } from './rolling-recordings.ts';

const clients = Array.from({ length: 4 }, () => new Redis(inject('redisPort'), '127.0.0.1'));
const [client] = clients as [Redis];
afterAll(() => {
  for (const one of clients) one.disconnect();
});
let names = 0;
const ownName = (): string => `rolling ${process.pid} ${++names}`;

for (const store of ['memory', 'redis 7']) {
  const makeStore = STORES[store];

  describe(`on ${store},`, () => {
    for (const { claim, run } of [...risingstack.vectors, ...classdojo.vectors]) {
      test(claim, async () => {
        expect(await run(makeStore)).toEqual([]);
      });
    }

    test('with coarse sub-windows, the drop-in acknowledges at least 99 % of the actions that the original acknowledged', async () => {
      let [ours, theirs] = [0, 0];
      for (const scenario of risingstackScenarios.filter(isCoarse)) {
        for (const n of await acknowledgedIn(scenario, makeStore)) ours += n;
        for (const { expected } of scenario.steps) theirs += expected.acknowledged;
      }
      expect(ours / theirs).toBeGreaterThan(0.99);
    });

    test('a limiter with fewer buckets than actions to record never exceeds the limit, and still admits more than nine tenths of the limit', async () => {
      const clock = manualClock();
      const [interval, maxInInterval] = [1000, 2000];
      const limiter = rateLimiterFactory({ interval, maxInInterval, buckets: 10, store: makeStore(clock) });
      clock.set(7);
      expect((await limiter('coarse', maxInInterval)).wait).toBe(1_093_000);
      const taken: [at: number, n: number][] = [];
      for (let at = 0; at < 10_000; at += 7) {
        clock.set(at);
        taken.push([at, (await limiter('u', 40)).acknowledged]);
      }
      const sumIn = (from: number, to: number): number =>
        taken.reduce((sum, [at, n]) => (at > from && at <= to ? sum + n : sum), 0);
      for (const [at] of taken) expect(sumIn(at - interval, at)).toBeLessThanOrEqual(maxInInterval);
      expect(sumIn(0, 10_000)).toBeGreaterThan(0.9 * 10 * maxInInterval);
    });

    test('several limits are charged together or not at all', async () => {
      const clock = manualClock();
      const limits = {
        second: { interval: 1000, maxInInterval: 5 },
        minute: { interval: 60_000, maxInInterval: 8 },
      };
      const limiter = rateLimiterFactory({ limits, store: makeStore(clock) });
      expect(await limiter('u', 5)).toMatchObject({ acknowledged: 5, actionsRemaining: 0, wait: 60_000_000 });
      clock.set(1000);
      expect(await limiter('u', 4)).toMatchObject({ acknowledged: 0, actionsRemaining: 3, wait: 59_000_000 });
      expect(await limiter('u', 3)).toMatchObject({ acknowledged: 3, actionsRemaining: 0 });
    });

    test('a wait is exact to the microsecond', async () => {
      const clock = manualClock(1_763_229_000_123.456);
      const limiter = rateLimiterFactory({ interval: 10, maxInInterval: 1, store: makeStore(clock) });
      const { wait } = await limiter('u');
      expect(wait).toBe(10_000);
      clock.advance(wait / 1000 - 0.001);
      expect(await limiter('u')).toMatchObject({ acknowledged: 0, wait: 1 });
      clock.advance(0.001);
      expect(await limiter('u')).toMatchObject({ acknowledged: 1, wait: 10_000 });
    });

    test('mode uniform counts actions far beyond the limit, and a batch larger than the limit has an infinite wait', async () => {
      const clock = manualClock();
      const options = { interval: 1000, maxInInterval: 3, mode: 'uniform' } as const;
      const limiter = rateLimiterFactory({ ...options, store: makeStore(clock) });
      for (let i = 1; i <= 300; i++) {
        clock.advance(1);
        expect(await limiter('u')).toMatchObject({ acknowledged: 1, actionsRemaining: 3 - i });
      }
      clock.advance(800);
      expect((await limiter('u')).actionsRemaining).toBe(3 - 201);
      expect(await limiter('u', 100_000)).toEqual({
        acknowledged: 100_000,
        actionsRecorded: 100_000,
        actionsRemaining: 3 - 100_201,
        wait: Infinity,
      });
    });

    test('a client that keeps trying stays blocked until its attempts have left the interval', async () => {
      const clock = manualClock();
      const limiter = new InMemoryRateLimiter({
        interval: 100,
        maxInInterval: 2,
        store: makeStore(clock),
      });
      const blocked: boolean[] = [];
      for (let at = 0; at < 5000; at += 20) {
        clock.set(at);
        blocked.push(await limiter.limit(7));
      }
      expect(blocked.filter((one) => !one)).toHaveLength(2);
      expect(await limiter.wouldLimitWithInfo(7)).toEqual({
        blocked: true,
        blockedDueToCount: true,
        blockedDueToMinDifference: false,
        millisecondsUntilAllowed: 80,
        actionsRemaining: 0,
      });
      clock.set(4980 + 80);
      expect(await limiter.wouldLimit('7')).toBe(false);
      expect(await limiter.limit(7)).toBe(false);
    });

    test('a floating-point rounding error does not add a millisecond to the wait', async () => {
      const clock = manualClock();
      const limiter = new InMemoryRateLimiter({ interval: 10.1, maxInInterval: 1, store: makeStore(clock) });
      for (let micros = 0; micros < 100; micros++) {
        const start = 1_763_229_000_123_456 + 17 * micros;
        clock.set(start / 1000);
        await limiter.limit(micros);
        clock.set((start + 100) / 1000);
        expect(await limiter.wouldLimitWithInfo(micros)).toMatchObject({ millisecondsUntilAllowed: 10 });
      }
    });

    test('the result says whether an attempt came too soon, was one too many, or both', async () => {
      const limiter = new InMemoryRateLimiter({
        interval: 100,
        maxInInterval: 2,
        minDifference: 10,
        store: makeStore(manualClock()),
      });
      const reasons = async (): Promise<boolean[]> => {
        const { blockedDueToCount, blockedDueToMinDifference } = await limiter.limitWithInfo('u');
        return [blockedDueToCount, blockedDueToMinDifference];
      };
      expect(await reasons()).toEqual([false, false]);
      expect(await reasons()).toEqual([false, true]);
      expect(await reasons()).toEqual([true, true]);
      await limiter.clear('u');
      expect(await reasons()).toEqual([false, false]);
    });
  });
}

test('70 RisingStack scenarios with 3238 steps are replayed, 26 of which (927 steps) must agree exactly, and 22 others are left out', () => {
  const exact = risingstackScenarios.filter(({ exactLog }) => exactLog);
  expect(risingstack.vectors).toHaveLength(70);
  expect(risingstack.vectors.reduce((sum, { steps }) => sum + steps, 0)).toBe(3238);
  expect(exact).toHaveLength(26);
  expect(exact.reduce((sum, { steps }) => sum + steps.length, 0)).toBe(927);
  expect(Object.values(risingstack.leftOut).flat()).toHaveLength(22);
});

test('32 classdojo scenarios with 1300 steps are replayed, and 36 are left out: 34 of the old API, and 2 in which the clock goes back', () => {
  expect(classdojo.vectors).toHaveLength(32);
  expect(classdojo.vectors.reduce((sum, { steps }) => sum + steps, 0)).toBe(1300);
  expect(Object.values(classdojo.leftOut).map((names) => names.length)).toEqual([34, 2]);
});

describe('a limiter from rateLimiterFactory', () => {
  const options = { interval: 1000, maxInInterval: 5, clock: manualClock() };
  const left = (acknowledged: number, actionsRemaining: number, wait: number): RollingResult => ({
    acknowledged,
    actionsRecorded: acknowledged,
    actionsRemaining,
    wait,
  });

  test('accepts an id, a number of actions, both or neither, and returns a promise', async () => {
    const limiter = rateLimiterFactory(options);
    expect(await limiter()).toEqual(left(1, 4, 0));
    expect(await limiter(2)).toEqual(left(2, 2, 0));
    expect(await limiter(undefined, 2)).toEqual(left(2, 0, 1_000_000));
    expect(await limiter('u')).toEqual(left(1, 4, 0));
    expect(await limiter('u', 4)).toEqual(left(4, 0, 1_000_000));
    expect(await limiter('7', 3)).toEqual(left(3, 2, 1_000_000));
    expect(await limiter(7 as unknown as string, 2)).toEqual(left(2, 0, 1_000_000));
  });

  test('passes results only to the callback if a callback is given', async () => {
    const limiter = rateLimiterFactory(options);
    const heard = (call: (callback: (...args: unknown[]) => void) => unknown): Promise<unknown[]> =>
      new Promise((resolve) => {
        expect(call((...args) => resolve(args))).toBeUndefined();
      });
    expect(await heard((callback) => limiter(callback))).toEqual([null, left(1, 4, 0)]);
    expect(await heard((callback) => limiter(2, callback))).toEqual([null, left(2, 2, 0)]);
    expect(await heard((callback) => limiter('u', callback))).toEqual([null, left(1, 4, 0)]);
    expect(await heard((callback) => limiter('u', 4, callback))).toEqual([null, left(4, 0, 1_000_000)]);
  });

  test('is both returned and passed to the callback of the factory', async () => {
    const heard: unknown[] = [];
    const limiter = rateLimiterFactory({ interval: 1000, maxInInterval: 5 }, (...args) =>
      heard.push(...args),
    );
    expect(heard).toEqual([]);
    await limiter('u');
    expect(heard).toEqual([null, limiter]);
  });

  test('passes an error to the callback as the first argument, or rejects if there is no callback', async () => {
    const limiter = rateLimiterFactory({
      ...options,
      redis: { send: () => Promise.reject(new Error('down')) },
    });
    await expect(limiter('u')).rejects.toThrow('down');
    const error = await new Promise((resolve) => limiter('u', resolve));
    expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
  });

  test.each([0, -3, 1.5, Number.NaN, '2'])('throws synchronously for %s actions', (n) => {
    const limiter = rateLimiterFactory(options);
    expect(() => limiter('u', n as number)).toThrow('n must be a whole number, 1 or more');
  });
});

test('limiters share keys only if they have the same namespace', async () => {
  const [here, there] = [ownName(), ownName()];
  const make = (namespace: string) =>
    rateLimiterFactory({ interval: 60_000, maxInInterval: 5, namespace, redis: client });
  await make(here)('u', 2);
  expect((await make(here)('u', 2)).actionsRemaining).toBe(1);
  expect((await make(there)('u', 2)).actionsRemaining).toBe(3);
});

test('a check with three limits and a minimum difference needs one Redis command', async () => {
  const sent: string[] = [];
  const counting = {
    send: (command: readonly string[]) => {
      sent.push(command[0]);
      return client.call(...(command as [string, ...string[]]));
    },
  };
  const limits = [1000, 60_000, 3_600_000].map((interval) => ({
    interval,
    maxInInterval: 9,
    minDifference: 1,
  }));
  const limiter = rateLimiterFactory({ limits, namespace: ownName(), redis: counting });
  await limiter('u');
  sent.length = 0;
  expect(await limiter('v')).toMatchObject({ acknowledged: 1, actionsRemaining: 8, wait: 1000 });
  expect(sent).toEqual(['EVALSHA']);
});

describe('four concurrent clients on one key', () => {
  const storeOf = (one: Redis) => redis(one, { onFailure: 'throw', deadline: '30s' });
  const calls = async <T>(make: (one: Redis) => () => Promise<T>): Promise<T[]> => {
    const callers = clients.map(make);
    return Promise.all(Array.from({ length: 400 }, (_, i) => callers[i % 4]()));
  };

  test.each(['binary', 'nary'] as const)(
    'get exactly as many actions acknowledged as the limit allows, in mode %s',
    async (mode) => {
      const namespace = ownName();
      const results = await calls((one) => {
        const limits = [
          { interval: 60_000, maxInInterval: 100 },
          { interval: 3_600_000, maxInInterval: 150 },
        ];
        const limiter = rateLimiterFactory({ limits, mode, namespace, store: storeOf(one) });
        return () => limiter('u');
      });
      expect(results.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(100);
    },
  );

  test('use up the whole limit with batches in mode nary', async () => {
    const namespace = ownName();
    const results = await calls((one) => {
      const options = { interval: 60_000, maxInInterval: 100, mode: 'nary', namespace } as const;
      const limiter = rateLimiterFactory({ ...options, store: storeOf(one) });
      return () => limiter('u', 7);
    });
    expect(results.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBe(100);
  });

  test('together get exactly as many calls admitted by RedisRateLimiter as the limit allows', async () => {
    const namespace = ownName();
    const results = await calls((one) => {
      const limiter = new RedisRateLimiter({
        namespace,
        interval: 60_000,
        maxInInterval: 100,
        store: storeOf(one),
      });
      return () => limiter.limitWithInfo('u');
    });
    expect(results.filter(({ blocked }) => !blocked)).toHaveLength(100);
  });
});

test('RedisRateLimiter keeps separate state for each namespace in the Redis server of its client', () =>
  punctually(100, async () => {
    const [here, there] = [ownName(), ownName()];
    const make = (namespace: string) =>
      new RedisRateLimiter({ client, namespace, interval: 60_000, maxInInterval: 1 });
    expect(await make(here).limit('u')).toBe(false);
    expect(await make(here).limit('u')).toBe(true);
    expect(await make(there).limit('u')).toBe(false);
    await make(here).clear('u');
    expect(await make(here).wouldLimit('u')).toBe(false);
  }));

test('two InMemoryRateLimiters do not share state', async () => {
  const make = () => new InMemoryRateLimiter({ interval: 60_000, maxInInterval: 1 });
  expect([await make().limit('u'), await make().limit('u')]).toEqual([false, false]);
});

describe('invalid options', () => {
  const good = { interval: 1000, maxInInterval: 5 };
  const factory = (options: object) => () => rateLimiterFactory(options as RateLimiterFactoryOptions);
  const inMemory = (options: object) => () => new InMemoryRateLimiter(options as RateLimiterOptions);
  const inRedis = (options: object) => () => new RedisRateLimiter(options as RedisRateLimiterOptions);

  test.each([
    ['ERR_MISSING_OPTION', 'options.interval', factory({ maxInInterval: 5 })],
    ['ERR_NUMBER', 'options.interval', factory({ ...good, interval: -1 })],
    ['ERR_NUMBER', 'options.maxInInterval', factory({ ...good, maxInInterval: 0 })],
    ['ERR_NUMBER', 'options.minDifference', factory({ ...good, minDifference: -1 })],
    ['ERR_INTEGER', 'options.buckets', factory({ ...good, buckets: 0 })],
    ['ERR_CHOICE', 'options.mode', factory({ ...good, mode: 'toString' })],
    ['ERR_UNKNOWN_OPTION', 'options.maxInIntervall', factory({ ...good, maxInIntervall: 5 })],
    ['ERR_OPTIONS', 'options.limits', factory({ limits: [] })],
    ['ERR_OPTIONS', 'options.limits.1', factory({ limits: [good, 7] })],
    ['ERR_NUMBER', 'options.limits.day.interval', factory({ limits: { day: { ...good, interval: 0 } } })],
    ['ERR_UNKNOWN_OPTION', 'options.interval', factory({ limits: [good], interval: 1 })],
    ['ERR_OPTIONS', 'options', factory(undefined as never)],
    ['ERR_MISSING_OPTION', 'options.maxInInterval', inMemory({ interval: 1000 })],
    ['ERR_NUMBER', 'options.minDifference', inMemory({ ...good, minDifference: '1s' })],
    ['ERR_UNKNOWN_OPTION', 'options.namespace', inMemory({ ...good, namespace: 'a' })],
    ['ERR_MISSING_OPTION', 'options.namespace', inRedis({ ...good, client })],
    ['ERR_MISSING_OPTION', 'options.client', inRedis({ ...good, namespace: 'a' })],
    ['ERR_OPTIONS', 'redis.client', inRedis({ ...good, namespace: 'a', client: {} })],
  ])('throw %s for %s', (code, option, make) => {
    expect(make).toThrow(expect.objectContaining({ code, option }));
  });
});
