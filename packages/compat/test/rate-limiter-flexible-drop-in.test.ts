/** Compares the drop-in with rate-limiter-flexible itself: calls, classes and types that existing code uses. */
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import * as original from 'rate-limiter-flexible';
import { createClient } from 'redis';
import { afterAll, afterEach, describe, expect, inject, test, vi } from 'vitest';
import {
  BurstyRateLimiter,
  type IRateLimiterOptions,
  type IRateLimiterQueueOpts,
  type IRateLimiterRedisOptions,
  type IRateLimiterRes,
  type IRateLimiterStoreOptions,
  type IRateLimiterValkeyOptions,
  type RateLimiterAbstract,
  type RateLimiterLike,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRedis,
  type RateLimiterRes,
  type RateLimiterStoreAbstract,
  RateLimiterValkey,
} from '../src/rate-limiter-flexible.ts';
import { SluiceError, StoreUnavailable } from 'sluice';
import { redis } from 'sluice/redis';
import { manualClock } from 'sluice/testing';
import { redis3 } from 'sluice-test-support/redis/old-clients.ts';

const port = inject('redisPort');
const client = new Redis(port, '127.0.0.1');
afterAll(() => client.disconnect());
afterEach(() => {
  vi.useRealTimers();
});

/** Number of prefixes created so far. Prefixes are unique, because the Redis server is shared with other test runs. */
let prefixes = 0;
const freshPrefix = (): string => `rlf drop-in ${process.pid} ${++prefixes}`;

/** Converts a result to plain numbers, whether it was resolved or rejected. An `Error` becomes 'an Error'. */
async function answer(promise: Promise<unknown>): Promise<unknown> {
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
  try {
    return plain(await promise);
  } catch (reason) {
    return reason instanceof Error ? 'an Error' : { rejected: plain(reason) };
  }
}

/** Creates the original and our limiter on Redis, with the same options and different prefixes. */
function bothOnRedis(options: IRateLimiterOptions): readonly (RateLimiterLike | original.RateLimiterRedis)[] {
  const keyPrefix = freshPrefix();
  return [
    new original.RateLimiterRedis({ ...options, storeClient: client, keyPrefix } as never),
    new RateLimiterRedis({
      ...options,
      store: redis(client, { onFailure: 'throw', deadline: '30s' }),
      keyPrefix: `${keyPrefix} ours`,
    }),
  ];
}

test('with execEvenly, msBeforeNext is the time that remains after the delay, as in the original', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const clock = manualClock(Date.now());
  const options = { points: 8, duration: 4, execEvenly: true, execEvenlyMinDelayMs: 1 };
  const theirs = new original.RateLimiterMemory(options);
  const ours = new RateLimiterMemory({ ...options, clock });
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    const answers: (RateLimiterRes | original.RateLimiterRes)[] = [];
    for (const limiter of [theirs, ours]) void limiter.consume('a').then((res) => answers.push(res));
    await vi.advanceTimersByTimeAsync(0);
    let waited = 0;
    for (; answers.length < 2 && waited < 4000; waited++) {
      clock.advance(1);
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(answers[0].toJSON()).toEqual(answers[1].toJSON());
    waits.push(waited);
  }
  expect(waits[0]).toBe(0);
  expect(waits.slice(1).every((waited) => waited > 400)).toBe(true);
});

describe('on Redis, both the original and Sluice', () => {
  test('use the duration of the limiter if set is called without a duration', async () => {
    for (const limiter of bothOnRedis({ points: 5, duration: 1000 })) {
      const set: RateLimiterMemory['set'] = limiter.set.bind(limiter);
      expect(await set('a', 2)).toMatchObject({ consumedPoints: 2, msBeforeNext: 1_000_000 });
      const { msBeforeNext = 0 } = (await limiter.get('a')) ?? {};
      expect(msBeforeNext).toBeGreaterThan(900_000);
      expect(msBeforeNext).toBeLessThanOrEqual(1_000_000);
      expect(await limiter.consume('a')).toMatchObject({ consumedPoints: 3, remainingPoints: 2 });
    }
  });

  test('accept strings of digits as points and durations', async () => {
    for (const limiter of bothOnRedis({ points: 10, duration: 1000 })) {
      const text = '2' as unknown as number;
      expect(await limiter.consume('a', text)).toMatchObject({ consumedPoints: 2, remainingPoints: 8 });
      expect(await limiter.consume('a', text)).toMatchObject({ consumedPoints: 4, remainingPoints: 6 });
      expect(await limiter.penalty('a', text)).toMatchObject({ consumedPoints: 6 });
      expect(await limiter.reward('a', text)).toMatchObject({ consumedPoints: 4 });
      await limiter.set('b', text, '3000' as unknown as number);
      expect((await limiter.get('b'))?.consumedPoints).toBe(2);
      expect((await limiter.get('b'))?.msBeforeNext).toBeGreaterThan(2_900_000);
      const custom = { customDuration: '2000' as unknown as number };
      expect((await limiter.consume('c', 1, custom)).msBeforeNext).toBeGreaterThan(1_900_000);
    }
  });

  test.each(['x', '', '1.5', null, 1.5, true])('reject %o points with an Error', async (points) => {
    for (const limiter of bothOnRedis({ points: 10, duration: 1000 }))
      expect(await answer(limiter.consume('a', points as number))).toBe('an Error');
  });
});

test('RateLimiterMemory accepts strings of digits as points, and set() without a duration uses the duration of the limiter', async () => {
  const clock = manualClock(1_700_000_000_000);
  const limiter = new RateLimiterMemory({ points: 10, duration: 5, clock });
  expect(await limiter.set('a', 2)).toMatchObject({ consumedPoints: 2, msBeforeNext: 5000 });
  expect(await limiter.consume('a', '2' as unknown as number)).toMatchObject({ consumedPoints: 4 });
  clock.advance(5000);
  expect(await limiter.get('a')).toBeNull();
  await expect(limiter.consume('a', '2x' as unknown as number)).rejects.toBeInstanceOf(SluiceError);
});

test('parseKey removes the prefix that getKey adds', () => {
  for (const keyPrefix of ['login', '', 'a:b']) {
    const options = { points: 1, duration: 1, keyPrefix };
    const [theirs, ours] = [new original.RateLimiterMemory(options), new RateLimiterMemory(options)];
    expect(ours.getKey('alice')).toBe(theirs.getKey('alice'));
    expect(ours.parseKey(ours.getKey('alice'))).toBe(theirs.parseKey(theirs.getKey('alice')));
  }
});

describe('RateLimiterValkey', () => {
  test('gives the same results as the original with iovalkey', async () => {
    const valkey = new Valkey(inject('valkeyPort'), '127.0.0.1');
    const options = { points: 2, duration: 1000 };
    const theirs = new original.RateLimiterValkey({
      ...options,
      storeClient: valkey,
      keyPrefix: freshPrefix(),
    });
    const store = redis(valkey, { onFailure: 'throw', deadline: '30s' });
    const ours = new RateLimiterValkey({ ...options, store, keyPrefix: freshPrefix() });
    for (const rejects of [false, false, true]) {
      const wait = { msBeforeNext: expect.any(Number) as number };
      const expected = await answer(theirs.consume('a'));
      expect(expected).toEqual(rejects ? { rejected: expect.any(Object) as object } : expect.any(Object));
      const { rejected } = expected as { rejected?: IRateLimiterRes };
      expect(await answer(ours.consume('a'))).toEqual(
        rejected === undefined
          ? { ...(expected as object), ...wait }
          : { rejected: { ...rejected, ...wait } },
      );
    }
    valkey.disconnect();
  });

  test('accepts an iovalkey client or an ioredis client', async () => {
    const valkey = new Valkey(port, '127.0.0.1');
    for (const storeClient of [valkey, client]) {
      const limiter = new RateLimiterValkey({
        storeClient,
        points: 1,
        duration: 10,
        keyPrefix: freshPrefix(),
      });
      await expect.poll(() => answer(limiter.consume('a'))).toMatchObject({ consumedPoints: 1 });
    }
    valkey.disconnect();
  });

  test('with rejectIfValkeyNotReady rejects calls while the client is not connected, as the original does', async () => {
    const idle = new Valkey(port, '127.0.0.1', { lazyConnect: true });
    const options = { storeClient: idle, points: 2, duration: 10, rejectIfValkeyNotReady: true };
    await expect(new original.RateLimiterValkey(options).consume('a')).rejects.toBeInstanceOf(Error);
    const ours = new RateLimiterValkey({ ...options, keyPrefix: freshPrefix() });
    await expect(ours.consume('a')).rejects.toBeInstanceOf(StoreUnavailable);
    await idle.connect();
    await expect.poll(() => answer(ours.consume('a'))).toMatchObject({ consumedPoints: 1 });
    idle.disconnect();
  });

  test('rejects the option rejectIfRedisNotReady, which belongs to RateLimiterRedis', () => {
    const options = { storeClient: client, points: 2, duration: 10, rejectIfRedisNotReady: true };
    expect(() => new RateLimiterValkey(options)).toThrow(
      expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION' }),
    );
  });
});

describe('rejectIfRedisNotReady', () => {
  test('rejects calls until a node-redis 3 client is connected', async () => {
    const storeClient = redis3.createClient({ port });
    const options = { storeClient, points: 9, duration: 10, rejectIfRedisNotReady: true };
    const limiter = new RateLimiterRedis({
      ...options,
      useRedis3AndLowerPackage: true,
      keyPrefix: freshPrefix(),
    });
    await expect(limiter.consume('a')).rejects.toBeInstanceOf(StoreUnavailable);
    await expect.poll(() => answer(limiter.consume('a'))).toMatchObject({ consumedPoints: 1 });
    storeClient.end(true);
  });

  test('rejects calls until a node-redis client is connected', async () => {
    const storeClient = createClient({ socket: { port } });
    const options = { storeClient, points: 9, duration: 10, rejectIfRedisNotReady: true };
    const limiter = new RateLimiterRedis({ ...options, useRedisPackage: true, keyPrefix: freshPrefix() });
    await expect(limiter.consume('a')).rejects.toBeInstanceOf(StoreUnavailable);
    await storeClient.connect();
    await expect.poll(() => answer(limiter.consume('a'))).toMatchObject({ consumedPoints: 1 });
    storeClient.destroy();
  });
});

test('the classes of Sluice are assignable to the types of rate-limiter-flexible', async () => {
  const plain: IRateLimiterOptions = { points: 2, duration: 10 };
  const stored: IRateLimiterStoreOptions = { ...plain, storeClient: client, inMemoryBlockOnConsumed: 3 };
  const onRedis: IRateLimiterRedisOptions = { ...stored, rejectIfRedisNotReady: false };
  const onValkey: IRateLimiterValkeyOptions = { ...stored, rejectIfValkeyNotReady: false };
  const queued: IRateLimiterQueueOpts = { maxQueueSize: 1 };
  const limiters: RateLimiterAbstract[] = [new RateLimiterMemory(plain), new RateLimiterRedis(stored)];
  const servers: RateLimiterStoreAbstract[] = [
    new RateLimiterRedis(onRedis),
    new RateLimiterValkey(onValkey),
  ];
  const res: IRateLimiterRes = await limiters[0].consume('a');
  expect([res.remainingPoints, limiters.length, servers.length]).toEqual([1, 2, 2]);
  expect(await new RateLimiterQueue(limiters[0], queued).getTokensRemaining('a')).toBe(1);
});

describe("the original's wrappers around our limiters:", () => {
  const make = (options: Partial<IRateLimiterOptions> = {}): RateLimiterMemory =>
    new RateLimiterMemory({ points: 2, duration: 10, ...options });

  test('RLWrapperBlackAndWhite works with our limiters', async () => {
    const wrapped = new original.RLWrapperBlackAndWhite({
      limiter: make({ points: 1 }),
      blackList: ['bad'],
      whiteList: ['good'],
    });
    expect(await answer(wrapped.consume('a'))).toMatchObject({ consumedPoints: 1, remainingPoints: 0 });
    expect(await answer(wrapped.consume('a'))).toMatchObject({ rejected: { consumedPoints: 2 } });
    expect(await answer(wrapped.consume('bad'))).toMatchObject({ rejected: { remainingPoints: 0 } });
    for (let i = 0; i < 3; i++) expect(await answer(wrapped.consume('good'))).not.toHaveProperty('rejected');
    expect(await wrapped.delete('a')).toBe(true);
  });

  test('RateLimiterQueue works with our limiters', async () => {
    const queue = new original.RateLimiterQueue(make({ points: 1, duration: 0.05 }));
    expect(await queue.removeTokens(1)).toBe(0);
    const started = performance.now();
    expect(await queue.removeTokens(1)).toBe(0);
    expect(performance.now() - started).toBeGreaterThan(30);
  });

  test('RateLimiterUnion, RLWrapperTimeouts and insuranceLimiter reject our limiters', () => {
    expect(() => new original.RateLimiterUnion(make(), make({ keyPrefix: 'other' }))).toThrow('instance of');
    expect(() => new original.RLWrapperTimeouts({ limiter: make(), timeoutMs: 100 })).toThrow('instance of');
    const options = { storeClient: client, points: 2, duration: 10, insuranceLimiter: make() };
    expect(() => new original.RateLimiterRedis(options)).toThrow('instance of');
  });

  test('BurstyRateLimiter never calls the burst limiter', async () => {
    const burst = make({ keyPrefix: 'burst' });
    const bursty = new original.BurstyRateLimiter(make({ points: 1 }), burst);
    await bursty.consume('a');
    expect(await answer(bursty.consume('a'))).toMatchObject({ rejected: { consumedPoints: 2 } });
    expect(await burst.get('a')).toBeNull();
  });
});

describe("our wrappers around the original's limiters:", () => {
  const make = (options: Partial<IRateLimiterOptions> = {}): original.RateLimiterMemory =>
    new original.RateLimiterMemory({ points: 1, duration: 10, ...options } as never);

  test('BurstyRateLimiter calls the burst limiter', async () => {
    const bursty = new BurstyRateLimiter(make(), make({ keyPrefix: 'burst' }));
    expect(await answer(bursty.consume('a'))).toMatchObject({ consumedPoints: 1 });
    expect(await answer(bursty.consume('a'))).toMatchObject({ consumedPoints: 2 });
    expect(await answer(bursty.consume('a'))).toMatchObject({ rejected: { consumedPoints: 3 } });
  });

  test('RateLimiterQueue waits for the next window', async () => {
    const queue = new RateLimiterQueue(make({ duration: 0.05 }));
    expect(await queue.removeTokens(1)).toBe(0);
    expect(await queue.removeTokens(1)).toBe(0);
  });
});
