/** Tests the rules of Sharkey's limits one by one, and compares them with a second implementation of the formulas. */
import { describe, expect, test } from 'vitest';
import {
  type BucketRateLimit,
  createSkRateLimiterService,
  type LegacyRateLimit,
  type RateLimit,
  rateLimitHeaders,
  sendRateLimitHeaders,
  translateLimit,
} from '../src/sharkey.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';
import { STORES } from './stores.ts';

const { ceil, max: most, round } = Math;

/** Translates a legacy limit by the documented rules to size, drip rate and drip size; null means unlimited. */
function legacy({ max, duration, minInterval }: LegacyRateLimit): readonly [number, number, number] | null {
  if (typeof max === 'number' && typeof duration === 'number') {
    if (duration === 0) return null;
    const r0 = most(minInterval ?? round(duration / max), 1);
    const dripSize = most(round(max / (duration / r0)), 1);
    return [max, most(round(duration / (max / dripSize)), 1), dripSize];
  }
  return minInterval ? [1, most(round(minInterval), 1), 1] : null;
}

function scaled([size, dripRate, dripSize]: readonly [number, number, number], factor: number) {
  const bucket = {
    bucketSize: most(ceil(size / factor), 1),
    dripRate: ceil(dripRate * factor),
    dripSize: ceil(dripSize),
  };
  const fullResetMs = bucket.dripRate * ceil(bucket.bucketSize / bucket.dripSize);
  return { ...bucket, fullResetMs, fullResetSec: ceil(fullResetMs / 1000) };
}

test('translateLimit translates 10,000 random limits to the numbers that the documented formulas give', () => {
  const draw = random(5);
  const oneOf = <T>(list: readonly T[]): T => list[draw(list.length)];
  const number = (): number =>
    oneOf([1, 2, 1 + draw(60), 1 + draw(1e6) / 997, 1000 * (1 + draw(3600)), 1 + draw(1e7)]);
  const seen = { unlimited: 0, refused: 0, legacy: 0, bucket: 0 };
  for (let i = 0; i < 10_000; i++) {
    const factor = oneOf([1, 1, 0.5, 2, 0.01, 1.1, 1 / 3, 10, (1 + draw(999)) / 100, 0, -1]);
    const bucket: BucketRateLimit = {
      type: 'bucket',
      key: 'k',
      size: number(),
      dripRate: oneOf([undefined, null, number()]),
      dripSize: oneOf([undefined, null, 1, number()]),
    };
    const older: LegacyRateLimit = {
      key: 'k',
      max: oneOf([undefined, null, number(), number(), number()]),
      duration: oneOf([undefined, null, 0, number(), number(), number()]),
      minInterval: oneOf([undefined, null, 0, number(), draw(100) / 100]),
    };
    const limit: RateLimit = oneOf([bucket, older, older]);
    const numbers =
      limit === bucket
        ? ([bucket.size, bucket.dripRate ?? 1000, bucket.dripSize ?? 1] as const)
        : legacy(older);
    if (factor < 0) {
      expect(() => translateLimit(limit, factor), JSON.stringify(limit)).toThrow('factor');
      seen.refused++;
      continue;
    }
    const rightly = factor === 0 || numbers === null ? null : scaled(numbers, factor);
    expect(translateLimit(limit, factor), `${JSON.stringify(limit)} by ${factor}`).toEqual(rightly);
    seen[rightly === null ? 'unlimited' : limit === bucket ? 'bucket' : 'legacy']++;
  }
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(500);
});

test.each<[string, object, unknown]>([
  ['size', { type: 'bucket', size: 0 }, 0],
  ['size', { type: 'bucket', size: 0.999 }, 0.999],
  ['dripRate', { type: 'bucket', size: 1, dripRate: 0 }, 0],
  ['dripRate', { type: 'bucket', size: 1, dripRate: -1 }, -1],
  ['dripSize', { type: 'bucket', size: 1, dripSize: 0.5 }, 0.5],
  ['max', { max: 0, duration: 1000 }, 0],
  ['duration', { max: 1, duration: -1 }, -1],
  ['minInterval', { minInterval: -1 }, -1],
])('a limit with an invalid %s causes an error that names this member: %j', async (name, numbers, value) => {
  const limit = { key: 'k', ...numbers } as RateLimit;
  const refusal = { code: 'ERR_NUMBER', option: `limit k: ${name}`, value };
  expect(() => translateLimit(limit, 2)).toThrow(expect.objectContaining(refusal));
  await expect(createSkRateLimiterService().limit(limit, 'a')).rejects.toMatchObject(refusal);
  const exempt = createSkRateLimiterService({ factor: () => 0 });
  expect((await exempt.limit(limit, 'a')).remaining).toBe(Number.MAX_SAFE_INTEGER);
});

test('translateLimit ignores negative numbers in members that are not used', () => {
  expect(translateLimit({ key: 'k', max: 5, duration: 1000, minInterval: -9 }, 1)).toEqual(
    scaled([5, 200, 1], 1),
  );
  expect(translateLimit({ key: 'k', max: -5, duration: 0 }, 1)).toBe(null);
  expect(translateLimit({ key: 'k', max: -5, minInterval: 250 }, 1)).toEqual(scaled([1, 250, 1], 1));
  expect(translateLimit({ key: 'k', duration: -5 }, 1)).toBe(null);
});

test('translateLimit uses a factor of 1 by default', () => {
  expect(translateLimit({ type: 'bucket', key: 'k', size: 5 })).toEqual(scaled([5, 1000, 1], 1));
});

test.each([
  [{ size: 0 }, 'size must be a finite number, 1 or more; got 0'],
  [{ minInterval: -1 }, 'minInterval must be a finite number above 0; got -1'],
])('the error for %j says which values are valid', (numbers, message) => {
  const type = 'size' in numbers ? 'bucket' : undefined;
  expect(() => translateLimit({ key: 'k', type, ...numbers } as RateLimit)).toThrow(message);
});

const UNLIMITED = {
  blocked: false,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSec: 0,
  resetMs: 0,
  fullResetSec: 0,
  fullResetMs: 0,
};

test.each([{ disabled: true, factor: () => -1 }, { factor: () => 0 }, { factor: async () => 0 }])(
  'with the options %o, the service reports every call as unlimited, and counts nothing',
  async (options) => {
    const store = STORES['memory'](manualClock());
    const { limit } = createSkRateLimiterService({ store, ...options });
    const one: RateLimit = { type: 'bucket', key: 'k', size: 1 };
    for (let i = 0; i < 3; i++) expect(await limit(one, { id: 'a' })).toEqual(UNLIMITED);
    const strict = createSkRateLimiterService({ store });
    expect((await strict.limit(one, { id: 'a' })).blocked).toBe(false);
  },
);

describe.each(['memory', 'redis 7'])('on %s, the result', (name) => {
  test('for the call that fills a bucket of size 1 says when the next call can pass', async () => {
    const clock = manualClock(1_700_000_000_000);
    const { limit } = createSkRateLimiterService({ store: STORES[name](clock), clock });
    const one: RateLimit = { type: 'bucket', key: 'one', size: 1, dripRate: 1500 };
    const full = { remaining: 0, resetSec: 2, resetMs: 1500, fullResetSec: 2, fullResetMs: 1500 };
    expect(await limit(one, 'a')).toEqual({ blocked: false, ...full });
    expect(await limit(one, 'a')).toEqual({ blocked: true, ...full });
    clock.advance(1499);
    expect(await limit(one, 'a')).toMatchObject({ blocked: true, resetSec: 1, resetMs: 1 });
    clock.advance(1);
    expect(await limit(one, 'a')).toEqual({ blocked: false, ...full });
  });

  test('for a drip size above 1 reports a full reset after as many drips as it takes to empty the bucket', async () => {
    const clock = manualClock(1_700_000_000_000);
    const { limit } = createSkRateLimiterService({ store: STORES[name](clock), clock });
    const five: RateLimit = { type: 'bucket', key: 'five', size: 5, dripRate: 1000, dripSize: 2 };
    const resets: number[][] = [];
    for (let i = 0; i < 6; i++) {
      const { remaining, resetMs, fullResetMs } = await limit(five, { id: 'a' });
      resets.push([remaining, resetMs, fullResetMs]);
      clock.advance(100);
    }
    expect(resets).toEqual([
      [4, 0, 1000],
      [3, 0, 1000],
      [2, 0, 2000],
      [1, 0, 2000],
      [0, 600, 3000],
      [0, 500, 3000],
    ]);
    clock.advance(400);
    expect(await limit(five, 'a')).toMatchObject({ blocked: false, remaining: 1, fullResetMs: 2000 });
  });

  test('for an asynchronous factor of 0.5 shows twice the size and twice the rate', async () => {
    const clock = manualClock(1_700_000_000_000);
    const factor = async (): Promise<number> => 0.5;
    const { limit } = createSkRateLimiterService({ store: STORES[name](clock), clock, factor });
    const legacyLimit: RateLimit = { key: 'half', max: 3, duration: 3000 };
    for (let left = 5; left >= 0; left--)
      expect(await limit(legacyLimit, 'a')).toMatchObject({ blocked: false, remaining: left });
    expect(await limit(legacyLimit, 'a')).toMatchObject({ blocked: true, resetMs: 500, fullResetMs: 3000 });
  });
});

test('after a change of the factor, at least 98 % of the calls for 400 keys still use the same bucket as before', async () => {
  const clock = manualClock(1_700_000_000_000);
  let factor = 1;
  const { limit } = createSkRateLimiterService({ clock, factor: () => factor });
  const factors = [1, 0.5, 2, 0.25];
  let shared = 0;
  for (const [index, one] of factors.entries()) {
    factor = one;
    clock.advance(60_001);
    for (let key = 0; key < 400; key++) {
      const size = 100 + key;
      const { remaining } = await limit({ type: 'bucket', key: `endpoint ${key}`, size, dripRate: 1e9 }, 'a');
      if (remaining === Math.ceil(size / one) - index - 1) shared++;
    }
  }
  expect(shared).toBeGreaterThan(0.98 * 400 * factors.length);
});

test('headers are sent in the documented order, and the last two are sent only for a blocked call', () => {
  const info = { remaining: 0, resetSec: 2, resetMs: 1001, fullResetSec: 3, fullResetMs: 2050 };
  const open = [
    ['X-RateLimit-Clear', '2.050'],
    ['X-RateLimit-Remaining', '0'],
  ];
  const closed = [...open, ['Retry-After', '2'], ['X-RateLimit-Reset', '1.001']];
  expect(rateLimitHeaders({ ...info, blocked: false })).toEqual(open);
  expect(rateLimitHeaders({ ...info, blocked: true })).toEqual(closed);
  const sent: string[][] = [];
  sendRateLimitHeaders(
    { header: (...pair: [string, string]) => sent.push(pair) },
    { ...info, blocked: true },
  );
  sendRateLimitHeaders(
    { setHeader: (...pair: [string, string]) => sent.push(pair) },
    { ...info, blocked: true },
  );
  expect(sent).toEqual([...closed, ...closed]);
});
