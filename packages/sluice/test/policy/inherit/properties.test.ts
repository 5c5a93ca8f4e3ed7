/** Simulates rolling deploys. Two versions of a limit, with any numbers, alternate on one row. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  type LimiterOptions,
  memory,
  type Policies,
  type Policy,
  slidingWindow,
} from '../../../src/index.ts';
import { type ManualClock, manualClock } from '../../../src/testing/index.ts';
import { INHERIT, VERSIONS } from './versions.ts';

const START = 1_700_000_000_000 - (1_700_000_000_000 % 900);
const CLOSE = 0.002;

const gap = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 60 }),
  fc.double({ min: 0, max: 400, noNaN: true }),
  fc.integer({ min: 0, max: 3000 }),
);
const step = fc.record({
  gap,
  version: fc.integer({ min: 0, max: 1 }),
  cost: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })),
  mode: fc.constantFrom('whole' as const, 'partial' as const),
});
const trace = fc.array(step, { minLength: 1, maxLength: 80 });
const RUNS = { numRuns: 60 };

/** A version of a limit, and the maximum number of units that are replenished in a duration. */
interface Version {
  readonly policy: Policy;
  readonly limit: number;
  readonly comesBack: (span: number) => number;
}

const limit = fc.integer({ min: 1, max: 20 });

/** Two versions of each algorithm with any numbers. Their windows have the same length, so both count in the same windows. */
const PAIRS: Readonly<Record<string, fc.Arbitrary<readonly [Version, Version]>>> = {
  gcra: pairOf(
    fc
      .record({ limit, per: fc.integer({ min: 300, max: 1500 }), burst: limit })
      .map(({ limit, per, burst }) => ({
        policy: gcra({ limit, per: `${per}ms`, burst }),
        limit: burst,
        comesBack: (span: number) => (span * limit) / per,
      })),
  ),
  'leaky bucket': fc.tuple(limit, limit, fc.integer({ min: 1, max: 3 })).map(([a, b, dripSize]) => {
    const version = (size: number): Version => ({
      policy: leakyBucket({ size, dripSize, dripRate: 300 }),
      limit: size,
      comesBack: (span) => Math.ceil(span / 300) * dripSize,
    });
    return [version(a), version(b)] as const;
  }),
  'fixed window': pairOf(limit.map((units) => windowed(fixedWindow({ limit: units, per: '900ms' }), units))),
  'fixed window from the first hit': pairOf(
    limit.map((units) => windowed(fixedWindow({ limit: units, per: '900ms', align: 'first' }), units)),
  ),
  'sliding window': pairOf(
    limit.map((units) => windowed(slidingWindow({ limit: units, per: '900ms' }), units)),
  ),
};

function pairOf(version: fc.Arbitrary<Version>): fc.Arbitrary<readonly [Version, Version]> {
  return fc.tuple(version, version);
}

/** An interval that is as long as one window can overlap two windows. */
function windowed(policy: Policy, units: number): Version {
  return { policy, limit: units, comesBack: (span) => Math.ceil(span / 900) * units };
}

interface Grant {
  readonly at: number;
  readonly version: number;
  readonly units: number;
}

type Inherit = LimiterOptions['inherit'];

function open(versions: readonly Policies[], inherit: Inherit): { limiters: Limiter[]; clock: ManualClock } {
  const clock = manualClock(START);
  const store = memory({ clock });
  return { limiters: versions.map((one) => createLimiter(one, { store, name: 'deploy', inherit })), clock };
}

/** Returns the units that the versions admit. Peeks in between must write nothing. */
function admitted(
  pair: readonly [Version, Version],
  inherit: Inherit,
  steps: readonly { gap: number; version: number; cost: number; mode: 'whole' | 'partial' }[],
): Grant[] {
  const { limiters, clock } = open(
    pair.map(({ policy }) => policy),
    inherit,
  );
  const grants: Grant[] = [];
  for (const { gap: pause, version, cost, mode } of steps) {
    clock.advance(pause);
    limiters[1 - version].peek('k');
    const { taken } = limiters[version].take('k', { cost, mode });
    if (taken > 0) grants.push({ at: clock.now(), version, units: taken });
  }
  return grants;
}

/** Yields every interval that begins and ends with a grant. */
function* spans(grants: readonly Grant[]): Generator<{ length: number; inside: readonly Grant[] }> {
  for (let from = 0; from < grants.length; from++) {
    for (let to = from + 1; to <= grants.length; to++) {
      const inside = grants.slice(from, to);
      const length = (inside.at(-1) as Grant).at - inside[0].at;
      yield { length: length + CLOSE, inside };
    }
  }
}

const sum = (grants: readonly Grant[], worth: (grant: Grant) => number): number =>
  grants.reduce((total, grant) => total + worth(grant), 0);

for (const [name, pairs] of Object.entries(PAIRS)) {
  describe(`versions of a limit (${name})`, () => {
    test.each(INHERIT)('%s: no version admits more than its limit plus replenished units', (inherit) => {
      fc.assert(
        fc.property(pairs, trace, (pair, steps) => {
          for (const { length, inside } of spans(admitted(pair, inherit, steps))) {
            for (const [version, { limit: most }] of pair.entries()) {
              const own = sum(inside, (grant) => (grant.version === version ? grant.units : 0));
              // With 'proportional', a share that one version replenishes is replenished for both.
              const share = Math.max(...pair.map((one) => one.comesBack(length) / one.limit));
              const units = Math.max(...pair.map((one) => one.comesBack(length)));
              const back = inherit === 'proportional' ? share * most : units;
              expect(own).toBeLessThanOrEqual(most + back + 1e-6);
            }
          }
        }),
        RUNS,
      );
    });

    test('additive: both versions together use at most the higher limit plus replenished units', () => {
      fc.assert(
        fc.property(pairs, trace, (pair, steps) => {
          for (const { length, inside } of spans(admitted(pair, 'additive', steps))) {
            const back = Math.max(...pair.map((one) => one.comesBack(length)));
            const most = Math.max(...pair.map((one) => one.limit));
            expect(sum(inside, ({ units }) => units)).toBeLessThanOrEqual(most + back + 1e-6);
          }
        }),
        RUNS,
      );
    });

    test('proportional: the fractions of their limits that both versions use add up to at most 1 plus the replenished fraction', () => {
      fc.assert(
        fc.property(pairs, trace, (pair, steps) => {
          for (const { length, inside } of spans(admitted(pair, 'proportional', steps))) {
            const back = Math.max(...pair.map((one) => one.comesBack(length) / one.limit));
            const used = sum(inside, ({ version, units }) => units / pair[version].limit);
            expect(used).toBeLessThanOrEqual(1 + back + 1e-6);
          }
        }),
        RUNS,
      );
    });

    test.each(INHERIT)(
      '%s: when another version writes the row, no additional units become available',
      (inherit) => {
        fc.assert(
          fc.property(pairs, trace, (pair, steps) => {
            const { limiters, clock } = open(
              pair.map(({ policy }) => policy),
              inherit,
            );
            const [one, other] = limiters as [Limiter, Limiter];
            for (const { gap: pause, version, cost, mode } of steps) {
              clock.advance(pause);
              limiters[version].take('k', { cost, mode });
              const before = one.peek('k');
              // Writes the row with the numbers of the other version, but releases nothing.
              other.release('k');
              const after = one.peek('k');
              if (inherit === 'as-is') expect(after.remaining).toBeLessThanOrEqual(before.remaining);
              else expect(Math.abs(after.resetAfter - before.resetAfter)).toBeLessThan(CLOSE);
            }
          }),
          RUNS,
        );
      },
    );
  });
}

const seen = ({ allowed, taken, policy, policies }: Decision) => ({ allowed, taken, policy, policies });

describe.each(Object.entries(VERSIONS))('versions of a limit (%s)', (_, versions) => {
  test.each(INHERIT)(
    '%s: inheriting does not change any decision while the limits stay the same',
    (inherit) => {
      fc.assert(
        fc.property(trace, (steps) => {
          const inheriting = open(versions.slice(0, 1), inherit);
          const plain = open(versions.slice(0, 1), undefined);
          for (const { gap: pause, cost, mode } of steps) {
            for (const { clock } of [inheriting, plain]) clock.advance(pause);
            const [a, b] = [inheriting.limiters[0], plain.limiters[0]] as [Limiter, Limiter];
            expect(a.take('k', { cost, mode })).toEqual(b.take('k', { cost, mode }));
            expect(a.refund('k', 0.5)).toEqual(b.refund('k', 0.5));
          }
        }),
      );
    },
  );

  test.each(INHERIT)('%s: peeks and denied takes of another version write nothing', (inherit) => {
    fc.assert(
      fc.property(trace, (steps) => {
        const { limiters, clock } = open(versions, inherit);
        const [one, other] = limiters as [Limiter, Limiter];
        for (const { gap: pause, version, cost, mode } of steps) {
          clock.advance(pause);
          limiters[version].take('k', { cost, mode });
          const before = seen(one.peek('k'));
          other.peek('k', cost);
          // 'several' contains a penalty, which counts denials.
          if (versions !== VERSIONS['several']) other.take('k', 1000);
          expect(seen(one.peek('k'))).toEqual(before);
        }
      }),
    );
  });
});
