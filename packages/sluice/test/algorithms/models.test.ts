/** Compares each algorithm with a model that is slow, simple and exact. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  memory,
  type Policy,
  slidingLog,
  slidingWindow,
} from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import {
  fixedWindowModel,
  gcraModel,
  leakyBucketModel,
  type Model,
  slidingLogModel,
  slidingWindowModel,
} from './models.ts';

const START = 1_700_000_000_000;
const YEAR = 31_536_000_000;

interface Step {
  readonly gap: number;
  readonly cost: number;
}

/**
 * Runs the algorithm and its model, and compares every decision. Gaps are whole milliseconds, so two instants are equal or at
 * least 1 ms apart.
 */
function agree(policy: Policy, model: Model, steps: readonly Step[], limit: number): void {
  const clock = manualClock(START);
  const limiter = createLimiter(policy, { store: memory({ clock }) });
  for (const { gap, cost } of steps) {
    clock.advance(gap);
    const allowed = cost <= model.available(clock.now());
    const decision = limiter.take('k', cost);
    expect(decision.allowed).toBe(allowed || cost === 0);
    if (allowed && cost > 0) model.take(clock.now(), cost);
    expect(decision.remaining).toBe(Math.min(limit, Math.max(0, Math.floor(model.available(clock.now())))));
  }
}

const steps = (longest: number, most: number) =>
  fc.array(
    fc.record({
      gap: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: Math.ceil(longest) }),
        fc.integer({ min: 0, max: 50 }),
      ),
      cost: fc.integer({ min: 0, max: most }),
    }),
    { maxLength: 80 },
  );

describe('gcra decides exactly like an integer model at', () => {
  for (const [name, limit, per] of [
    ['1 a year', 1, YEAR],
    ['3 a year', 3, YEAR],
    ['7 in 30 days', 7, 30 * 86_400_000],
    ['1000 an hour', 1000, 3_600_000],
    ['7 a second', 7, 1000],
    ['1 a millisecond', 1, 1],
    ['300,000 a second', 300_000, 1000],
    ['1,000,000 a second', 1_000_000, 1000],
  ] as const) {
    test(name, () => {
      const property = fc.property(fc.integer({ min: 1, max: 2 * limit }), (burst) =>
        fc.assert(
          fc.property(steps((per / limit) * burst * 1.2, Math.ceil(burst * 1.2)), (trace) =>
            agree(gcra({ limit, per: `${per}ms`, burst }), gcraModel(limit, per, burst), trace, burst),
          ),
          { numRuns: 20 },
        ),
      );
      fc.assert(property, { numRuns: 15 });
    });
  }

  test('1,000,000 a second, and allows exactly a million single takes', () => {
    const clock = manualClock(START);
    const limiter = createLimiter(gcra({ limit: 1_000_000, per: '1s' }), { store: memory({ clock }) });
    let passed = 0;
    for (let i = 0; i < 1_000_100; i++) if (limiter.take('k').allowed) passed++;
    expect(passed).toBe(1_000_000);
    clock.advance(1);
    for (let i = 0; i < 1100; i++) if (limiter.take('k').allowed) passed++;
    expect(passed).toBe(1_001_000);
  });
});

test('leakyBucket decides exactly like a bucket that drips one drip at a time', () => {
  const shape = fc.record({
    size: fc.integer({ min: 1, max: 9 }),
    dripSize: fc.integer({ min: 1, max: 4 }),
    dripRate: fc.integer({ min: 1, max: 400 }),
  });
  fc.assert(
    fc.property(shape, steps(900, 10), (options, trace) =>
      agree(leakyBucket(options), leakyBucketModel(options), trace, options.size),
    ),
  );
});

const windowed: [string, (options: { limit: number; per: string }) => Policy, typeof slidingLogModel][] = [
  ['slidingLog decides exactly like a model that keeps a list of all actions', slidingLog, slidingLogModel],
  ['fixedWindow decides exactly like a model that keeps one count per window', fixedWindow, fixedWindowModel],
  [
    'slidingWindow decides exactly like a model that keeps two counts and calculates with exact fractions',
    slidingWindow,
    slidingWindowModel,
  ],
];

test.each(windowed)('%s', (_, make, model) => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 1000 }),
      steps(700, 13),
      (limit, per, trace) => agree(make({ limit, per: `${per}ms` }), model(limit, per), trace, limit),
    ),
  );
});
