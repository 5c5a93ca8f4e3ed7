/** Tests behavior that the original's documentation promises but the original does not have, and errors for invalid options. */
import { Redis } from 'ioredis';
import * as original from 'rate-limiter-flexible';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  type RateLimiterOptions,
  RateLimiterQueue,
  RateLimiterQueueError,
  RateLimiterRedis,
  RateLimiterRes,
  RateLimiterUnion,
} from '../src/rate-limiter-flexible.ts';
import { type Decision, memory, SluiceError, type Store } from 'sluice';
import type { Hit } from 'sluice/store';
import { redis } from 'sluice/redis';
import { manualClock } from 'sluice/testing';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { STORES } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

/** Number of prefixes created so far. Prefixes are unique, because the Redis server is shared with other test runs. */
let prefixes = 0;
const freshPrefix = (): string => `rlf docs ${process.pid} ${++prefixes}`;

for (const name of ['memory', 'redis 7'] as const) {
  describe(`on ${name}, where the original does not behave as its documentation says:`, () => {
    const clock = manualClock(1_700_000_000_000);
    const make = (options: RateLimiterOptions): RateLimiterMemory =>
      new RateLimiterMemory({ ...options, store: STORES[name](clock) });

    test('a reward does not create points, even for a key that consumed nothing', async () => {
      const limiter = make({ points: 3, duration: 10 });
      expect(await limiter.reward('a', 5)).toMatchObject({ remainingPoints: 3, consumedPoints: 0 });
      expect(await limiter.get('a')).toBeNull();
      await limiter.consume('a', 2);
      expect(await limiter.reward('a', 40)).toMatchObject({ remainingPoints: 3, consumedPoints: 0 });
      await expect(limiter.consume('a', 4)).rejects.toMatchObject({ consumedPoints: 4 });
    });

    test('a window and a block can last 60 days', async () => {
      const limiter = make({ points: 1, duration: 60 * 86_400 });
      await limiter.consume('a');
      await limiter.block('b', 60 * 86_400);
      clock.advance(60 * 86_400_000 - 1);
      expect(await limiter.get('a')).toMatchObject({ consumedPoints: 1, msBeforeNext: 1 });
      await expect(limiter.consume('b')).rejects.toMatchObject({ msBeforeNext: 1 });
      clock.advance(1);
      expect(await limiter.get('a')).toBeNull();
      expect(await limiter.consume('b')).toMatchObject({ isFirstInDuration: true });
    });

    test('a duration of a quarter of a second is exact', async () => {
      const limiter = make({ points: 1, duration: 0.25, blockDuration: 0.5 });
      expect(await limiter.consume('a')).toMatchObject({ msBeforeNext: 250 });
      await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 500 });
      clock.advance(499);
      await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 1, consumedPoints: 3 });
      clock.advance(1);
      expect(await limiter.consume('a')).toMatchObject({ consumedPoints: 1, msBeforeNext: 250 });
    });

    test('later calls do not shorten a block that lasts forever', async () => {
      const limiter = make({ points: 2, duration: 10 });
      await limiter.block('a', 0);
      await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: -1, consumedPoints: 4 });
      clock.advance(86_400_000_000);
      await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: -1, consumedPoints: 5 });
      expect(await limiter.delete('a')).toBe(true);
      expect(await limiter.delete('a')).toBe(false);
      expect(await limiter.consume('a')).toMatchObject({ msBeforeNext: 10_000 });
    });

    test('set reports the remaining points', async () => {
      const limiter = make({ points: 5, duration: 10 });
      expect(await limiter.set('a', 2, 30)).toMatchObject({ remainingPoints: 3, msBeforeNext: 30_000 });
      expect(await limiter.set('a', 0, 30)).toMatchObject({ remainingPoints: 5, consumedPoints: 0 });
      expect(await limiter.get('a')).toBeNull();
    });

    test('points and duration can be changed at run time, and a window that has started keeps its end', async () => {
      const limiter = make({ points: 1, duration: 10 });
      await limiter.consume('a');
      limiter.points = 3;
      limiter.duration = 60;
      expect(await limiter.consume('a')).toMatchObject({ remainingPoints: 1, msBeforeNext: 10_000 });
      expect(await limiter.consume('b')).toMatchObject({ remainingPoints: 2, msBeforeNext: 60_000 });
    });

    test('execEvenly delays each call by an equal part of the remaining time, and at least by the minimum delay', async () => {
      const delays: number[] = [];
      const after = (delay: number, wake: () => void): (() => void) => {
        delays.push(delay);
        clock.advance(delay);
        wake();
        return () => {};
      };
      const store: Store = { ...STORES[name](clock), clock: { after } };
      const options = { points: 4, duration: 1, execEvenly: true, store };
      const limiter = new RateLimiterMemory(options);
      for (let i = 0; i < 3; i++) await limiter.consume('a');
      clock.advance(2);
      await limiter.consume('a');
      // The first call is not delayed. The equal share of the last call would be just below the minimum of 250 ms. In that case,
      // the original would wait 4 times the minimum.
      expect(delays).toEqual([250, 250, 250]);
      const least = new RateLimiterMemory({ ...options, execEvenlyMinDelayMs: 20, keyPrefix: 'least' });
      await least.consume('a', 2);
      await least.consume('a', 2);
      expect(delays.slice(3)).toEqual([500]);
    });
  });
}

/** Waits longer than the server takes to reply. */
const settled = (): Promise<undefined> => new Promise((resolve) => setTimeout(resolve, 5, undefined));

/** Wraps a store to record the hits that reach it. */
function watched(store: Store): Store & { hits: Hit[] } {
  const hits: Hit[] = [];
  return {
    ...store,
    hits,
    apply(hit) {
      hits.push(hit);
      return store.apply(hit);
    },
  };
}

const failing: Store<Promise<Decision>> = {
  clock: memory().clock,
  apply: () => Promise.reject(new Error('the server is gone')),
  close() {},
};

describe('RateLimiterRedis:', () => {
  test("keeps its counts on its client's server, where limiters with the same prefix share them", () =>
    punctually(100, async () => {
      const options = { points: 2, duration: 100, storeClient: client, keyPrefix: freshPrefix() };
      await new RateLimiterRedis(options).consume('a');
      await new RateLimiterRedis(options).consume('a');
      await expect(new RateLimiterRedis(options).consume('a')).rejects.toBeInstanceOf(RateLimiterRes);
      await new RateLimiterRedis({ ...options, keyPrefix: freshPrefix() }).consume('a');
    }));

  test('admits exactly as many of 100 concurrent calls as there are points', async () => {
    const store = redis(client, { onFailure: 'throw', deadline: '30s' });
    const limiter = new RateLimiterRedis({ points: 7, duration: 100, store, keyPrefix: freshPrefix() });
    const answers = await Promise.allSettled(Array.from({ length: 100 }, () => limiter.consume('a')));
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    expect(await limiter.get('a')).toMatchObject({ consumedPoints: 100 });
  });

  test('does not call the store to reject a key that has consumed inMemoryBlockOnConsumed points', async () => {
    const clock = manualClock(1_700_000_000_000);
    const store = watched(memory({ clock }));
    const limiter = new RateLimiterRedis({
      points: 2,
      duration: 10,
      store,
      clock,
      inMemoryBlockOnConsumed: 3,
    });
    await limiter.consume('a', 2);
    await expect(limiter.consume('a')).rejects.toMatchObject({ consumedPoints: 3, msBeforeNext: 10_000 });
    const asked = store.hits.length;
    clock.advance(4000);
    await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 6000, remainingPoints: 0 });
    expect(store.hits).toHaveLength(asked);
    clock.advance(6000);
    expect(await limiter.consume('a')).toMatchObject({ consumedPoints: 1 });
  });

  test('a block of inMemoryBlockDuration outlasts the window, but ends when delete or deleteInMemoryBlockedAll is called', async () => {
    const clock = manualClock(1_700_000_000_000);
    const limiter = new RateLimiterRedis({
      points: 1,
      duration: 10,
      store: memory({ clock }),
      clock,
      inMemoryBlockOnConsumed: 2,
      inMemoryBlockDuration: 30,
    });
    await limiter.consume('a');
    await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 30_000 });
    clock.advance(20_000);
    await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 10_000 });
    await limiter.delete('a');
    await limiter.consume('a');
    await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 30_000 });
    clock.advance(20_000);
    limiter.deleteInMemoryBlockedAll();
    await limiter.consume('a');
  });

  test('with blockDuration, a key that is blocked in memory is also blocked on the server', async () => {
    const clock = manualClock(1_700_000_000_000);
    const store = memory({ clock });
    const options = { points: 1, duration: 10, blockDuration: 60, store, clock };
    const limiter = new RateLimiterRedis({ ...options, inMemoryBlockOnConsumed: 2 });
    await limiter.consume('a');
    await expect(limiter.consume('a')).rejects.toMatchObject({ msBeforeNext: 60_000 });
    clock.advance(30_000);
    await expect(new RateLimiterRedis(options).consume('a')).rejects.toMatchObject({ msBeforeNext: 30_000 });
  });

  test('rejects with an Error if the store fails, unless there is an insurance limiter', async () => {
    const options = { points: 5, duration: 10, store: failing };
    const alone = new RateLimiterRedis(options);
    for (const call of [alone.consume('a'), alone.get('a'), alone.delete('a'), alone.block('a', 1)])
      await expect(call).rejects.toThrow('the server is gone');

    const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 5 });
    const insured = new RateLimiterRedis({ ...options, insuranceLimiter, blockDuration: 9 });
    expect(insuranceLimiter.blockDuration).toBe(9);
    expect(await insured.consume('a')).toMatchObject({ remainingPoints: 0 });
    await expect(insured.consume('a')).rejects.toMatchObject({ consumedPoints: 2, msBeforeNext: 9000 });
    expect(await insured.penalty('a')).toMatchObject({ consumedPoints: 3 });
    expect(await insured.reward('a')).toMatchObject({ consumedPoints: 2 });
    expect(await insured.get('a')).toMatchObject({ consumedPoints: 2 });
    expect(await insured.set('a', 1, 5)).toMatchObject({ consumedPoints: 1 });
    expect(await insured.block('a', 5)).toMatchObject({ consumedPoints: 2 });
    expect(await insured.delete('a')).toBe(true);
  });

  test('does not call the insurance limiter for invalid arguments', async () => {
    // The original's limiter would accept half a point.
    const insuranceLimiter = new original.RateLimiterMemory({ points: 1, duration: 5 });
    const insured = new RateLimiterRedis({ points: 5, duration: 10, store: failing, insuranceLimiter });
    await expect(insured.consume('a', 0.5)).rejects.toBeInstanceOf(SluiceError);
    await insured.consume('a');
  });

  test('rejectIfRedisNotReady rejects immediately while the client is not connected', async () => {
    const idle = new Redis(inject('redisPort'), '127.0.0.1', { lazyConnect: true });
    const limiter = new RateLimiterRedis({
      points: 1,
      duration: 10,
      storeClient: idle,
      keyPrefix: freshPrefix(),
      rejectIfRedisNotReady: true,
    });
    await expect(limiter.consume('a')).rejects.toThrow('ERR_STORE_UNAVAILABLE');
    expect(idle.status).toBe('wait');
    await idle.connect();
    await limiter.consume('a');
    idle.disconnect();
  });
});

describe('RateLimiterUnion', () => {
  const two = (clock = manualClock()): [RateLimiterMemory, RateLimiterMemory] => [
    new RateLimiterMemory({ points: 1, duration: 10, keyPrefix: 'a', clock }),
    new RateLimiterMemory({ points: 5, duration: 20, keyPrefix: 'b', clock }),
  ];

  test('resolves with the results by prefix, or rejects with the results of the limiters that deny', async () => {
    const union = new RateLimiterUnion(...two());
    expect(await union.consume('k')).toMatchObject({ a: { remainingPoints: 0 }, b: { remainingPoints: 4 } });
    const reason: unknown = await union.consume('k').catch((refused: unknown) => refused);
    expect(reason).toEqual({ a: new RateLimiterRes(0, 10_000, 2, false) });
  });

  test('charges none of its limiters if one of them denies', async () => {
    const [a, b] = two();
    const union = new RateLimiterUnion(a, b);
    await union.consume('k');
    for (let i = 0; i < 10; i++) await expect(union.consume('k')).rejects.toHaveProperty('a');
    expect(await b.get('k')).toMatchObject({ consumedPoints: 1 });
  });

  test('rejects with the Error of a limiter that fails, and does not charge the others', async () => {
    const [, b] = two();
    const broken = new RateLimiterMemory({ points: 1, duration: 1, keyPrefix: 'broken', store: failing });
    await expect(new RateLimiterUnion(broken, b).consume('k')).rejects.toEqual({
      broken: new Error('the server is gone'),
    });
    expect(await b.get('k')).toBeNull();
  });

  test("accepts the original's limiters", async () => {
    const theirs = new original.RateLimiterMemory({ points: 1, duration: 10, keyPrefix: 'theirs' });
    const union = new RateLimiterUnion(theirs, two()[1]);
    expect(Object.keys(await union.consume('k'))).toEqual(['theirs', 'b']);
    await expect(union.consume('k')).rejects.toHaveProperty('theirs');
  });

  test('requires at least one limiter', () => {
    expect(() => new RateLimiterUnion()).toThrow('ERR_OPTIONS');
    expect(() => new RateLimiterUnion({} as RateLimiterMemory)).toThrow('ERR_OPTIONS');
  });
});

test('BurstyRateLimiter rejects with the Error of a store that fails', async () => {
  const broken = new RateLimiterMemory({ points: 1, duration: 1, store: failing });
  const whole = new RateLimiterMemory({ points: 0, duration: 1 });
  await expect(new BurstyRateLimiter(broken, whole).consume('k')).rejects.toThrow('the server is gone');
  await expect(new BurstyRateLimiter(whole, broken).consume('k')).rejects.toThrow('the server is gone');
});

describe('RateLimiterQueue:', () => {
  test('serves calls in order, and as many calls in each duration as there are points', async () => {
    const clock = manualClock();
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 1, clock }), { clock });
    const passed: string[] = [];
    for (let i = 0; i < 5; i++)
      void queue.removeTokens(1).then((left) => passed.push(`${i} at ${clock.now()}, ${left} left`));
    for (let i = 0; i < 3; i++) {
      await settled();
      clock.advance(1000);
    }
    expect(passed).toEqual([
      '0 at 0, 1 left',
      '1 at 0, 0 left',
      '2 at 1000, 1 left',
      '3 at 1000, 0 left',
      '4 at 2000, 1 left',
    ]);
  });

  test('a call joins the queue without a store call if other calls are waiting', async () => {
    const clock = manualClock();
    const store = watched(memory({ clock }));
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 1, store }), { clock });
    await queue.removeTokens(1);
    void queue.removeTokens(1);
    await settled();
    const asked = store.hits.length;
    void queue.removeTokens(1);
    await settled();
    expect(store.hits).toHaveLength(asked);
  });

  test('calls for different keys do not wait for each other', async () => {
    const clock = manualClock();
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 60, clock }), { clock });
    await queue.removeTokens(1, 'a');
    void queue.removeTokens(1, 'a');
    expect(await queue.removeTokens(1, 'b')).toBe(0);
    expect(await queue.getTokensRemaining('a')).toBe(0);
    expect(await queue.getTokensRemaining('c')).toBe(1);
  });

  test('rejects calls beyond the queue size, calls for more tokens than the limit, and calls that have expired', async () => {
    const clock = manualClock(1_000_000);
    const limiter = new RateLimiterMemory({ points: 2, duration: 60, clock });
    const queue = new RateLimiterQueue(limiter, { maxQueueSize: 2, clock });
    await queue.removeTokens(2);
    const late = queue.removeTokens(1, undefined, 1010);
    const next = queue.removeTokens(1);
    await settled();
    await expect(queue.removeTokens(1)).rejects.toBeInstanceOf(RateLimiterQueueError);
    await expect(queue.removeTokens(3)).rejects.toThrow('exceeds maximum 2');
    await expect(queue.removeTokens(1, 'b', 999)).rejects.toThrow('expired');
    clock.advance(10_000);
    await expect(late).rejects.toThrow('expired');
    clock.advance(50_000);
    expect(await next).toBe(1);
  });

  test('uses the points of both limiters of a BurstyRateLimiter before it lets calls wait', async () => {
    const clock = manualClock();
    const bursty = new BurstyRateLimiter(
      new RateLimiterMemory({ points: 1, duration: 1, clock }),
      new RateLimiterMemory({ points: 1, duration: 3, keyPrefix: 'burst', clock }),
    );
    const queue = new RateLimiterQueue(bursty, { clock });
    const at: number[] = [];
    const calls = [0, 1, 2, 3].map(() => queue.removeTokens(1).then(() => at.push(clock.now())));
    for (let i = 0; i < 3; i++) {
      await settled();
      clock.advance(1000);
    }
    await Promise.all(calls);
    expect(at).toEqual([0, 0, 1000, 2000]);
  });

  test('retries once a second while its key is blocked indefinitely', async () => {
    const clock = manualClock();
    const store = watched(memory({ clock }));
    const limiter = new RateLimiterMemory({ points: 1, duration: 1, store });
    const queue = new RateLimiterQueue(limiter, { clock });
    await limiter.block('a', 0);
    const turn = queue.removeTokens(1, 'a');
    await settled();
    const asked = store.hits.length;
    clock.advance(999);
    await settled();
    expect(store.hits).toHaveLength(asked);
    clock.advance(1);
    await settled();
    expect(store.hits).toHaveLength(asked + 1);
    await limiter.delete('a');
    clock.advance(1000);
    expect(await turn).toBe(0);
  });

  test('a waiter that is served in time leaves no timer behind', async () => {
    const clock = manualClock(1_000_000);
    const alarms = new Set<() => void>();
    const counted = {
      now: () => clock.now(),
      after(delay: number, wake: () => void) {
        alarms.add(wake);
        const cancel = clock.after(delay, () => {
          alarms.delete(wake);
          wake();
        });
        return () => {
          alarms.delete(wake);
          cancel();
        };
      },
    };
    const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 1, clock }), {
      clock: counted,
    });
    await queue.removeTokens(1);
    const turn = queue.removeTokens(1, undefined, 2000);
    await settled();
    expect(alarms.size).toBe(2);
    clock.advance(1000);
    await turn;
    await settled();
    expect(alarms.size).toBe(0);
  });

  test('rejects a call whose store call fails, and still handles the next call', async () => {
    const broken = new RateLimiterQueue(new RateLimiterMemory({ points: 1, duration: 1, store: failing }));
    await expect(broken.removeTokens(1)).rejects.toThrow('the server is gone');
    await expect(broken.removeTokens(1)).rejects.toThrow('the server is gone');
  });
});

describe('options and arguments:', () => {
  test.each([
    [{ duration: 1 }, 'points is required'],
    [{ points: 1 }, 'duration is required'],
    [{ points: Number.NaN, duration: 1 }, 'points'],
    [{ points: 1, duration: -1 }, 'duration'],
    [{ points: 1, duration: 1, blockDuration: -1 }, 'blockDuration'],
    [{ points: 1, duration: 1, keyPrefix: 5 }, 'keyPrefix'],
    [{ points: 1, duration: 1, insuranceLimiter: {} }, 'insuranceLimiter'],
    [{ points: 1, duration: 1, insuranceLimiter: null }, 'insuranceLimiter'],
    [{ points: 1, duration: 1, inMemoryBlockOnConsumed: 5 }, 'RateLimiterMemory.inMemoryBlockOnConsumed'],
    [{ points: 1, duration: 1, tableName: 'x' }, 'RateLimiterMemory.tableName'],
  ])('RateLimiterMemory rejects %j, and the error mentions "%s"', (options, message) => {
    expect(() => new RateLimiterMemory(options as never)).toThrow(SluiceError);
    expect(() => new RateLimiterMemory(options as never)).toThrow(message);
  });

  test.each([
    ['storeClient', {}],
    ['storeClient', { storeClient: client, store: memory() }],
    ['RateLimiterRedis.customIncrTtlLuaScript', { storeClient: client, customIncrTtlLuaScript: '' }],
    ['inMemoryBlockOnConsumed', { storeClient: client, inMemoryBlockOnConsumed: 1 }],
    ['inMemoryBlockOnConsumed', { storeClient: client, inMemoryBlockDuration: 1 }],
  ])('RateLimiterRedis rejects invalid options, and the error mentions "%s"', (message, options) => {
    const all = { points: 2, duration: 1, ...options };
    expect(() => new RateLimiterRedis(all as never)).toThrow(SluiceError);
    expect(() => new RateLimiterRedis(all as never)).toThrow(message);
  });

  test('calls without a key or with fractional or negative points are rejected and change nothing', async () => {
    const limiter = new RateLimiterMemory({ points: 2, duration: 10 });
    await expect(limiter.consume(undefined as unknown as string)).rejects.toThrow('ERR_KEY');
    for (const points of [-1, 0.5, Number.NaN]) {
      await expect(limiter.consume('a', points)).rejects.toThrow('ERR_COST');
      await expect(limiter.reward('a', points)).rejects.toThrow('ERR_COST');
    }
    expect(await limiter.get('a')).toBeNull();
    expect(await limiter.consume('a', 0)).toMatchObject({ remainingPoints: 2, consumedPoints: 0 });
  });

  test('a numeric key is treated as the string of its digits', async () => {
    const limiter = new RateLimiterMemory({ points: 2, duration: 10 });
    await limiter.consume(7);
    expect(await limiter.get('7')).toMatchObject({ consumedPoints: 1 });
    expect([limiter.getKey(7), limiter.msDuration, limiter.msBlockDuration]).toEqual(['rlflx:7', 10_000, 0]);
  });
});
