/** Makes the same random calls to rate-limiter-flexible itself and to the drop-in, and compares the results. */
import { Redis } from 'ioredis';
import * as original from 'rate-limiter-flexible';
import { afterAll, afterEach, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import {
  BurstyRateLimiter,
  type RateLimiterLike,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
} from '../src/rate-limiter-flexible.ts';
import { redis } from 'sluice/redis';
import { manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

/** Number of prefixes created so far. Prefixes are unique, because the Redis server is shared with other test runs. */
let prefixes = 0;
const freshPrefix = (): string => `rlf ${process.pid} ${++prefixes}`;

interface Numbers {
  readonly remainingPoints: number;
  readonly msBeforeNext: number;
  readonly consumedPoints: number;
  readonly isFirstInDuration: boolean;
}

type Answer = { readonly rejected: boolean; readonly value: Numbers | boolean | null };

/** Turns a result or a rejection into a value. A denial rejects with a value that is not an `Error`. */
async function outcome(promise: Promise<Numbers | boolean | null>): Promise<Answer> {
  try {
    return { rejected: false, value: plain(await promise) };
  } catch (reason) {
    if (reason instanceof Error) throw reason;
    return { rejected: true, value: plain(reason as Numbers) };
  }
}

const plain = (value: Numbers | boolean | null): Numbers | boolean | null =>
  typeof value === 'object' && value !== null ? (JSON.parse(JSON.stringify(value)) as Numbers) : value;

/** Park and Miller's random number generator, which gives the same sequence in every run. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % sides;
  };
}

type Either = RateLimiterLike | original.RateLimiterAbstract;

const CALLS = [
  'consume',
  'consume',
  'consume',
  'penalty',
  'reward',
  'block',
  'set',
  'get',
  'delete',
] as const;

/**
 * Generates a random call. A reward never reduces the consumed points below one, because the original would then create points.
 */
function randomCall(roll: (sides: number) => number, consumed: number, second = 1) {
  const call = CALLS[roll(CALLS.length)];
  const key = 'ab'[roll(2)];
  const points = roll(4) + 1;
  const seconds = (roll(30) + 1) * second;
  const custom = roll(4) === 0 ? { customDuration: seconds } : {};
  const name = call === 'reward' && consumed <= points ? 'get' : call;
  return {
    name,
    key,
    run(limiter: Either): Promise<Numbers | boolean | null> {
      if (name === 'consume' || name === 'penalty') return limiter[name](key, points, custom);
      if (name === 'reward') return limiter.reward(key, points);
      if (name === 'block') return limiter.block(key, seconds);
      if (name === 'set') return limiter.set(key, points, seconds);
      return limiter[name](key);
    },
  };
}

/**
 * Removes known differences. After `set`, the original reports 0 remaining points, and it reports `isFirstInDuration` when it
 * blocks.
 */
function comparable(name: string, { rejected, value }: Answer, blocks: boolean): unknown {
  if (typeof value !== 'object' || value === null) return { rejected, value };
  const { msBeforeNext: _, ...rest } = value;
  if (name === 'set') return { rejected, ...rest, remainingPoints: 0 };
  return blocks && rejected ? { rejected, ...rest, isFirstInDuration: false } : { rejected, ...rest };
}

const msOf = ({ value }: Answer): number =>
  typeof value === 'object' && value !== null ? value.msBeforeNext : 0;

describe('compared with the original in memory, on a shared clock,', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  for (const store of ['memory', 'redis 7'] as const) {
    const sequences = store === 'memory' ? 200 : 25;
    test(`${sequences} random sequences of 60 calls on ${store} give the same results`, async () => {
      let compared = 0;
      const differences: unknown[] = [];
      for (let seed = 1; seed <= sequences; seed++) {
        const roll = dice(seed * 7919);
        const options = {
          points: roll(6) + 1,
          duration: [1, 5, 10, 0][roll(4)],
          blockDuration: [0, 0, 20][roll(3)],
        };
        const clock = manualClock(Date.now());
        const theirs = new original.RateLimiterMemory(options);
        const ours = new RateLimiterMemory({ ...options, store: STORES[store](clock) });
        for (let i = 0; i < 60; i++) {
          const step = roll(3) === 0 ? roll(8000) : 0;
          vi.advanceTimersByTime(step);
          clock.advance(step);
          const consumed = (await theirs.get('a'))?.consumedPoints ?? 0;
          const others = (await theirs.get('b'))?.consumedPoints ?? 0;
          const call = randomCall(roll, Math.min(consumed, others));
          const [a, b] = [await outcome(call.run(theirs)), await outcome(call.run(ours))];
          const blocks = options.blockDuration > 0;
          const same =
            JSON.stringify(comparable(call.name, a, blocks)) ===
            JSON.stringify(comparable(call.name, b, blocks));
          if (!same || Math.abs(msOf(a) - msOf(b)) > 1) differences.push({ seed, i, ...call, options, a, b });
          compared++;
        }
      }
      expect(differences.slice(0, 3)).toEqual([]);
      expect(compared).toBe(sequences * 60);
    });
  }
});

test('30 random sequences of 40 calls give the same results as the original on Redis 7, except for elapsed time', async () => {
  const differences: unknown[] = [];
  let compared = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const roll = dice(seed * 104_729);
    const options = { points: roll(6) + 1, duration: 1000, blockDuration: [0, 500][roll(2)] };
    const keyPrefix = freshPrefix();
    const theirs = new original.RateLimiterRedis({ ...options, storeClient: client, keyPrefix });
    const ours = new RateLimiterRedis({
      ...options,
      store: redis(client, { onFailure: 'throw', deadline: '30s' }),
      keyPrefix: `${keyPrefix} ours`,
    });
    const started = performance.now();
    for (let i = 0; i < 40; i++) {
      const consumed = (await theirs.get('a'))?.consumedPoints ?? 0;
      const others = (await theirs.get('b'))?.consumedPoints ?? 0;
      // Durations are at least 1000 seconds, so that none ends during the test.
      const call = randomCall(roll, Math.min(consumed, others), 1000);
      const [a, b] = [await outcome(call.run(theirs)), await outcome(call.run(ours))];
      const blocks = options.blockDuration > 0;
      const [x, y] = [comparable(call.name, a, blocks), comparable(call.name, b, blocks)];
      const between = performance.now() - started + 5;
      if (JSON.stringify(x) !== JSON.stringify(y) || Math.abs(msOf(a) - msOf(b)) > between)
        differences.push({ seed, i, ...call, options, a, b });
      compared++;
    }
  }
  expect(differences.slice(0, 3)).toEqual([]);
  expect(compared).toBe(1200);
});

test('BurstyRateLimiter gives the same results as the original in all 50 calls', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
  const clock = manualClock(Date.now());
  const first = { points: 2, duration: 4 };
  const second = { points: 3, duration: 10, keyPrefix: 'burst' };
  const theirs = new original.BurstyRateLimiter(
    new original.RateLimiterMemory(first),
    new original.RateLimiterMemory(second),
  ) as original.BurstyRateLimiter & Pick<RateLimiterLike, 'get'>; // The original's types lack `get`.
  const ours = new BurstyRateLimiter(
    new RateLimiterMemory({ ...first, clock }),
    new RateLimiterMemory({ ...second, clock }),
  );
  expect(ours.points).toBe(2);
  expect(await ours.get('k')).toBeNull();
  const roll = dice(11);
  for (let i = 0; i < 50; i++) {
    const step = roll(900);
    vi.advanceTimersByTime(step);
    clock.advance(step);
    const points = roll(2) + 1;
    expect(await outcome(ours.consume('k', points))).toEqual(await outcome(theirs.consume('k', points)));
    expect(plain(await ours.get('k'))).toEqual(plain(await theirs.get('k')));
  }
  vi.useRealTimers();
});

test("a RateLimiterRes is converted to the same string and JSON as the original's", () => {
  const ours = new RateLimiterRes(1, 2, 3, true);
  const theirs = new original.RateLimiterRes(1, 2, 3, true);
  expect([String(ours), JSON.stringify(ours)]).toEqual([String(theirs), JSON.stringify(theirs)]);
  expect(new RateLimiterRes().toJSON()).toEqual(new original.RateLimiterRes().toJSON());
});
