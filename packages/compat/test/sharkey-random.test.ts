/**
 * Compares random calls with a second implementation of a Sharkey limit, which consists of a counter and the time of its last
 * drip.
 */
import { describe, expect, test } from 'vitest';
import {
  type Actor,
  createSkRateLimiterService,
  type LimitInfo,
  type RateLimit,
  translateLimit,
} from '../src/sharkey.ts';
import { manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';
import { random } from 'sluice-test-support/random.ts';

interface Bucket {
  readonly counter: number;
  readonly since: number;
}

const seconds = (span: number): number => Math.ceil(span / 1000);

/** The second implementation. A blocked call writes nothing. The drips of an empty bucket are counted from the next call. */
function rules(): (limit: RateLimit, factor: number, actor: string, now: number) => LimitInfo {
  const buckets = new Map<string, Bucket>();
  return (limit, factor, actor, now) => {
    const bucket = translateLimit(limit, factor);
    if (bucket === null)
      return {
        blocked: false,
        remaining: 2 ** 53 - 1,
        resetSec: 0,
        resetMs: 0,
        fullResetSec: 0,
        fullResetMs: 0,
      };
    const { bucketSize, dripRate, dripSize } = bucket;
    const id = JSON.stringify([limit.key, actor]);
    let { counter, since } = buckets.get(id) ?? { counter: 0, since: 0 };
    const drips = Math.max(Math.floor((now - since) / dripRate), 0);
    counter = Math.max(counter - drips * dripSize, 0);
    since = counter === 0 ? now : since + drips * dripRate;
    const blocked = counter >= bucketSize;
    if (!blocked) buckets.set(id, { counter: ++counter, since });
    const remaining = Math.max(bucketSize - counter, 0);
    const needed = Math.ceil((counter - bucketSize + 1) / dripSize);
    const resetMs = remaining > 0 ? 0 : since + needed * dripRate - now;
    const fullResetMs = dripRate * Math.ceil(counter / dripSize);
    return {
      blocked,
      remaining,
      resetSec: seconds(resetMs),
      resetMs,
      fullResetSec: seconds(fullResetMs),
      fullResetMs,
    };
  };
}

const STEPS = [0, 0, 1, 10, 99, 100, 250, 500, 1000, 3000, 60_001, -1, -500];
const FACTORS = [1, 0.5, 2, 3, 0.1, 0.33, 10, 0.01, 1.1, 0];
const ACTORS: readonly Actor[] = ['u0', 'u1', { id: 'u1' }, { id: 'u2' }];

function limitsFrom(draw: (below: number) => number): readonly RateLimit[] {
  const oneOf = <T>(list: readonly T[]): T => list[draw(list.length)];
  return Array.from({ length: 3 }, (_, i): RateLimit => {
    // Some limits share a bucket.
    const key = draw(3) === 0 ? 'k' : `k${i}`;
    const max = 1 + draw(30);
    const duration = oneOf([500, 1000, 5000, 60_000, 3_600_000]);
    return oneOf<RateLimit>([
      {
        key,
        type: 'bucket',
        size: 1 + draw(20),
        dripRate: oneOf([1, 10, 99.5, 100, 1000, 2500.7]),
        dripSize: oneOf([undefined, 1, 1.5, 2, 7]),
      },
      { key, max, duration },
      { key, max, duration, minInterval: draw(3000) },
      { key, minInterval: oneOf([0.4, 1, 1000, 2500.5]) },
    ]);
  });
}

describe.each([
  ['memory', 120],
  ['redis 7', 6],
])('on %s,', (store, scenarios) => {
  test(`${scenarios * 60} calls, with factors that change and a clock that goes back, return the same fields as the reference`, async () => {
    for (let seed = 1; seed <= scenarios; seed++) {
      const draw = random(seed);
      const clock = manualClock(1_700_000_000_000 + seed);
      const expected = rules();
      const limits = limitsFrom(draw);
      let current = FACTORS[draw(FACTORS.length)];
      const remembered = new Map<Actor, { readonly at: number; readonly factor: number }>();
      const service = createSkRateLimiterService({
        store: STORES[store](clock),
        clock,
        factor(actor) {
          remembered.set(ACTORS.find((one) => one === actor) as Actor, { at: clock.now(), factor: current });
          return current;
        },
      });
      for (let step = 0; step < 60; step++) {
        clock.advance(STEPS[draw(STEPS.length)]);
        if (draw(30) === 0) current = FACTORS[draw(FACTORS.length)];
        const [limit, actor] = [limits[draw(3)], ACTORS[draw(ACTORS.length)]];
        const answer = await service.limit(limit, actor);
        const { at, factor } = remembered.get(actor) as { at: number; factor: number };
        expect(clock.now() - at).toBeLessThanOrEqual(60_000);
        const id = typeof actor === 'string' ? actor : actor.id;
        expect(answer, `seed ${seed}, step ${step}`).toEqual(expected(limit, factor, id, clock.now()));
      }
    }
  });
});
