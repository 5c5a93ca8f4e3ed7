/** On any row, `attempt` must return exactly the results of the four functions that it combines. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  type Policy,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts';
import { algorithms } from '../../src/algorithms/registry.ts';

const START = 1_700_000_000_000;

const limit = fc.oneof(fc.integer({ min: 1, max: 20 }), fc.double({ min: 1, max: 1e7, noNaN: true }));
const per = fc
  .oneof(fc.integer({ min: 1, max: 100_000 }), fc.double({ min: 0.01, max: 1e9, noNaN: true }))
  .map((millis) => `${millis.toFixed(4)}ms`);

/** Random policies of each algorithm that has fixed-size rows. */
const POLICIES: Readonly<Record<string, fc.Arbitrary<Policy>>> = {
  gcra: fc
    .record({ limit: fc.oneof(limit, fc.double({ min: 0.001, max: 1, noNaN: true })), per, burst: limit })
    .map((options) => gcra(options)),
  'token bucket in steps': fc
    .record({ capacity: limit, refill: limit, every: per })
    .map((options) => tokenBucket({ ...options, continuous: false })),
  'leaky bucket': fc
    .record({ size: limit, dripSize: limit, dripRate: per })
    .map((options) => leakyBucket(options)),
  'fixed window': fc
    .record({
      limit: fc.integer({ min: 1, max: 20 }),
      per,
      align: fc.constantFrom('epoch' as const, 'first' as const),
    })
    .map((options) => fixedWindow(options)),
  'calendar window': fc
    .record({
      limit: fc.integer({ min: 1, max: 20 }),
      align: fc.constantFrom('day' as const, 'month' as const),
    })
    .map((options) => fixedWindow({ ...options, timeZone: 'Europe/Berlin' })),
  'sliding window': fc
    .record({ limit: fc.integer({ min: 1, max: 20 }), per })
    .map((options) => slidingWindow(options)),
  'minimum interval': per.map((every) => minInterval({ every })),
  pacer: fc
    .record({
      limit,
      per,
      maxBurst: fc.integer({ min: 0, max: 9 }),
      fresh: fc.constantFrom('full' as const, 'empty' as const),
      resolution: fc.constantFrom('exact' as const, 'microseconds' as const),
    })
    .map((options) => pacer(options)),
  'pacer with a warm-up': fc.record({ limit, per, warmup: per }).map((options) => pacer(options)),
};

/** A cell may hold an instant near now, an amount, or zero. */
const cell = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 25 }),
  fc.double({ min: 0, max: 1e6, noNaN: true }),
  fc.double({ min: -2e5, max: 2e5, noNaN: true }).map((offset) => START + offset),
  fc.integer({ min: -1000, max: 1000 }).map((offset) => START + offset),
);
const cost = fc.oneof(
  fc.integer({ min: 1, max: 25 }),
  fc.double({ min: 1e-9, max: 1e3, noNaN: true }),
  fc.constant(1e15),
);
const gap = fc.oneof(
  fc.constant(0),
  fc.integer({ min: -50, max: 2000 }),
  fc.double({ min: 0, max: 1e5, noNaN: true }),
);

describe('attempt', () => {
  for (const [name, policies] of Object.entries(POLICIES)) {
    test(`has exactly the same results as waitFor, take, available and clearIn together: ${name}`, () => {
      const cells = fc.array(cell, { minLength: 6, maxLength: 6 });
      const steps = fc.array(fc.record({ gap, cost }), { minLength: 1, maxLength: 8 });
      fc.assert(
        fc.property(policies, cells, steps, fc.integer({ min: 0, max: 2 }), (policy, values, hits, at) => {
          const { algorithm, params } = policy;
          const apart = Float64Array.from(values);
          const fused = Float64Array.from(values);
          const out = new Float64Array(2);
          let now = START;
          for (const hit of hits) {
            now += hit.gap;
            const wait = algorithm.waitFor(params, apart, at, now, hit.cost);
            if (wait === 0) algorithm.take(params, apart, at, now, hit.cost);
            const expected = [
              wait,
              algorithm.available(params, apart, at, now),
              algorithm.clearIn(params, apart, at, now),
            ];
            const attempted = algorithm.attempt?.(params, fused, at, now, hit.cost, out);
            // toStrictEqual compares numbers with Object.is, which distinguishes 0 from −0 and accepts NaN only for NaN.
            expect([attempted, ...out]).toStrictEqual(expected);
            expect(fused).toStrictEqual(apart);
          }
        }),
        { numRuns: 500 },
      );
    });
  }

  test('exists for every algorithm that has fixed-size rows and does not count denials', () => {
    const all = Object.values(algorithms).flatMap((entry) => entry.algorithms);
    const expected = all.filter((one) => one.variableLength === undefined && one.countsDenials !== true);
    expect(all.filter((one) => one.attempt !== undefined)).toEqual(expected);
    expect(expected.length).toBeGreaterThan(5);
  });
});
