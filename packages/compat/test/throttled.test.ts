/**
 * Replays the recordings of throttled through its drop-in API. The tests compare `limited`, `limit`, `remaining` (accepting one
 * more or less within 2 µs of a whole unit), the reset and retry times within 1 µs, and the headers. They leave out scenarios
 * whose interval is below 0.1 ms or that keep only the most recent keys, steps after a negative quantity, and denials whose wait
 * is at most 2 µs. For a quantity above the limit, they also leave out the remaining units and the reset time, because the
 * original forgets earlier use.
 */
import { describe, expect, test } from 'vitest';
import {
  createGcraRateLimiter,
  type GcraRateLimiter,
  perDay,
  perDuration,
  perHour,
  perMin,
  perSec,
  type Rate,
  type RateQuota,
  rateLimitHeaders,
} from '../src/throttled.ts';
import { type Decision, type MaybePromise, memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';
import {
  compareRemaining,
  FINEST_INTERVAL_NS,
  FINEST_STEP_NS,
  millis,
} from 'sluice-test-support/vectors/gcra.ts';
import { Ledger, load, MICROSECOND } from 'sluice-test-support/vectors/vector.ts';

interface Quota {
  readonly ctor: string;
  readonly count: number;
  readonly periodNs: number;
  readonly emissionIntervalNs: number;
  readonly maxBurst: number;
}

interface Numbers {
  readonly limited: boolean;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterNs: number;
  readonly retryAfterNs: number;
}

interface Step {
  readonly atNanos: number;
  readonly key: string;
  readonly quantity: number;
  readonly quota?: Quota;
  readonly expected: Numbers;
  readonly headers: Readonly<Record<string, string>>;
}

interface Scenario {
  readonly id: string;
  readonly quota: Quota;
  readonly maxKeys: number;
  readonly baseNanos: string;
  readonly steps: readonly Step[];
}

const recorded = load<{
  scenarios: Scenario[];
  httpResponses: (Numbers & { headers: Record<string, string> })[];
  constructors: (Quota & { result: string })[];
}>('throttled');

const RATES: Readonly<Record<string, (count: number) => Rate>> = {
  PerSec: perSec,
  PerMin: perMin,
  PerHour: perHour,
  PerDay: perDay,
};

const quotaOf = ({ ctor, count, periodNs, maxBurst }: Quota): RateQuota => ({
  maxRate: RATES[ctor]?.(count) ?? perDuration(count, periodNs / 1e6),
  maxBurst,
});

function compared({ steps }: Scenario): readonly Step[] {
  const negative = steps.findIndex(({ quantity }) => quantity < 0);
  return (
    steps
      .slice(0, negative < 0 ? steps.length : negative)
      .filter(({ expected }) => expected.retryAfterNs < 0 || expected.retryAfterNs > FINEST_STEP_NS)
      // The clock goes back by 100 s, with a window of 2 s. The original then denies for 100 s, while ours treats the key as new.
      .filter(({ atNanos }) => atNanos > -10e9)
  );
}

/** Go capitalizes only the first letter of each word in a header name. */
function inGo(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('RateLimit', 'Ratelimit'), value]),
  );
}

/** The headers of a response that describe limits. */
const limitsOnly = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /Ratelimit|Retry/.test(name)));

const run = recorded.scenarios.filter(
  ({ quota, maxKeys }) => quota.emissionIntervalNs >= FINEST_INTERVAL_NS && maxKeys === 0,
);

for (const name of ['memory', 'redis 7'] as const) {
  const makeStore = STORES[name];
  describe(`on ${name},`, () => {
    for (const scenario of run) {
      const steps = compared(scenario);
      test(`${scenario.id} agrees with the recording at all ${steps.length} steps`, async () => {
        const clock = manualClock();
        const store = makeStore(clock);
        const limiters = new Map<string, GcraRateLimiter<MaybePromise<Decision>>>();
        const ledger = new Ledger();
        for (const [index, step] of steps.entries()) {
          const { quota = scenario.quota, key, quantity, expected } = step;
          const id = JSON.stringify(quota);
          const limiter = limiters.get(id) ?? createGcraRateLimiter({ quota: quotaOf(quota), store });
          limiters.set(id, limiter);
          clock.set(millis(scenario.baseNanos, step.atNanos));
          const result = await limiter.rateLimit(key, quantity);
          ledger.at(index, step);
          ledger.same('limited', result.limited, expected.limited);
          ledger.same('limit', result.limit, expected.limit);
          const retryAfter = expected.retryAfterNs < 0 ? -1 : expected.retryAfterNs / 1e6;
          ledger.near('retryAfter', result.retryAfter, retryAfter, MICROSECOND);
          if (quantity > result.limit) continue;
          const resetAfter = expected.resetAfterNs / 1e6;
          const cells = { interval: quota.emissionIntervalNs / 1e6, burst: quota.maxBurst + 1 };
          compareRemaining(ledger, cells, result.remaining, expected.remaining, resetAfter);
          ledger.near('resetAfter', result.resetAfter, resetAfter, MICROSECOND);
          if (![resetAfter, retryAfter].some(isNearWholeSecond) && result.remaining === expected.remaining)
            ledger.same('headers', JSON.stringify(inGo(rateLimitHeaders(result))), inOrder(step.headers));
        }
        expect(ledger.differences).toEqual([]);
      });
    }

    test('a negative quantity refunds units, but never beyond the full burst', async () => {
      const quota = { maxRate: perSec(2), maxBurst: 3 };
      const limiter = createGcraRateLimiter({ quota, store: makeStore(manualClock(1000)) });
      await limiter.rateLimit('k', 4);
      expect(await limiter.rateLimit('k', -1)).toMatchObject({
        limited: false,
        remaining: 1,
        retryAfter: -1,
      });
      expect(await limiter.rateLimit('k', -9)).toMatchObject({ remaining: 4, resetAfter: 0 });
    });
  });
}

/** Headers are rounded up to seconds, so a microsecond makes a difference near a whole second. */
const isNearWholeSecond = (span: number): boolean =>
  span > 0 && Math.abs(span - 1000 * Math.round(span / 1000)) <= MICROSECOND && span % 1000 !== 0;

function inOrder(headers: Readonly<Record<string, string>>): string {
  const names = ['X-Ratelimit-Limit', 'X-Ratelimit-Remaining', 'X-Ratelimit-Reset', 'Retry-After'];
  return JSON.stringify(Object.fromEntries(names.filter((n) => n in headers).map((n) => [n, headers[n]])));
}

test('52 scenarios with 2096 steps are replayed, and 5 scenarios are left out', () => {
  const steps = run.reduce((sum, scenario) => sum + compared(scenario).length, 0);
  expect([run.length, steps, recorded.scenarios.length - run.length]).toEqual([52, 2096, 5]);
});

test('the headers equal those of all 28 recorded responses', () => {
  expect(recorded.httpResponses).toHaveLength(28);
  for (const { headers, limit, remaining, resetAfterNs, retryAfterNs } of recorded.httpResponses) {
    const result = { limit, remaining, resetAfter: resetAfterNs / 1e6, retryAfter: retryAfterNs / 1e6 };
    expect(inGo(rateLimitHeaders(result))).toEqual(limitsOnly(headers));
  }
});

test('createGcraRateLimiter accepts or rejects each of 30 quotas like the original, with the same interval', () => {
  expect(recorded.constructors).toHaveLength(30);
  for (const { result, emissionIntervalNs, ...quota } of recorded.constructors) {
    const make = () =>
      createGcraRateLimiter({ quota: quotaOf({ ...quota, emissionIntervalNs }), clock: manualClock() });
    if (result === 'ok') expect(make().rateLimit('k').resetAfter * 1e6).toBeCloseTo(emissionIntervalNs, 3);
    else expect(make).toThrow(result.includes('MaxBurst') ? 'quota.maxBurst' : 'quota.maxRate');
  }
});

test.each([
  [{ quota: { maxRate: perSec(0), maxBurst: 1 } }, 'quota.maxRate.count'],
  [{ quota: { maxRate: perSec(1), maxBurst: 1.5 } }, 'quota.maxBurst'],
  [{ quota: { maxRate: perSec(1), burst: 1 } }, 'quota.burst'],
  [{ quota: { maxRate: perSec(1), maxBurst: 1 }, key: 1 }, 'createGcraRateLimiter.key'],
  [{ quota: { maxRate: perSec(1), maxBurst: 1 }, maxKeys: 5, store: memory() }, 'maxKeys'],
  [{}, 'quota'],
])('createGcraRateLimiter rejects %j because of %s', (options, option) => {
  expect(() => createGcraRateLimiter(options as never)).toThrow(option);
});

test('the rate may be named rate or maxRate, but not both', () => {
  const clock = manualClock();
  const byName = { rate: perMin(20), maxBurst: 5 };
  const asInGo = { maxRate: perMin(20), maxBurst: 5 };
  const take = (quota: RateQuota) => createGcraRateLimiter({ quota, clock }).rateLimit('k', 2);
  expect(take(byName)).toEqual(take(asInGo));
  expect(() => take({ ...byName, ...asInGo })).toThrow('quota.maxRate');
  expect(() => take({ ...byName, rate: perMin(0) })).toThrow('quota.rate.count');
});

test('limiters with different prefixes have separate keys', () => {
  const store = memory({ clock: manualClock() });
  const quota = { maxRate: perSec(1), maxBurst: 0 };
  createGcraRateLimiter({ quota, store }).rateLimit('k');
  expect(createGcraRateLimiter({ quota, store }).rateLimit('k').limited).toBe(true);
  expect(createGcraRateLimiter({ quota, store, prefix: 'other' }).rateLimit('k').limited).toBe(false);
});

test('maxKeys limits how many keys the default store keeps', () => {
  const clock = manualClock();
  const limiter = createGcraRateLimiter({ quota: { maxRate: perSec(1), maxBurst: 9 }, maxKeys: 2, clock });
  limiter.rateLimit('much', 9);
  for (const key of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) limiter.rateLimit(key);
  expect(limiter.rateLimit('much', 0).remaining).toBe(1);
});
