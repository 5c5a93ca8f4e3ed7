/** Refunds that name their charge, compared with an exact model: a list of charges from which refunded units are removed. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  memory,
  minInterval,
  type Policy,
  slidingLog,
  slidingWindow,
} from '../../src/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
const LIMIT = 6;
const PER = 1000;

interface Charge {
  readonly of: Decision;
  readonly at: number;
  /** Units that were not refunded. */
  units: number;
  /** Units that were refunded, and when. */
  readonly refunds: { readonly at: number; readonly units: number }[];
}

function open(policies: Parameters<typeof createLimiter>[0]): { limiter: Limiter; clock: ManualClock } {
  const clock = manualClock(START);
  return { limiter: createLimiter(policies, { store: memory({ clock }) }), clock };
}

/** A step takes `cost` after `gap`, or refunds a part of an earlier charge. */
const step = fc.record({
  gap: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 2500 })),
  cost: fc.integer({ min: 1, max: 4 }),
  refunded: fc.option(fc.nat({ max: 20 })),
});
const steps = fc.array(step, { minLength: 1, maxLength: 60 });
type Steps = (typeof steps extends fc.Arbitrary<infer T> ? T : never) & readonly unknown[];

/** Runs the steps and calls `check` after each. A charge is refunded at most once. */
function run(
  policies: Parameters<typeof createLimiter>[0],
  trace: Steps,
  check: (charges: readonly Charge[], limiter: Limiter, now: number) => void = () => {},
): readonly Charge[] {
  const { limiter, clock } = open(policies);
  const charges: Charge[] = [];
  for (const { gap, cost, refunded } of trace) {
    clock.advance(gap);
    const now = clock.now();
    const charge = refunded === null ? undefined : charges[charges.length - 1 - refunded];
    if (charge !== undefined && charge.refunds.length === 0) {
      const units = Math.min(cost, charge.units);
      limiter.refund('k', { cost: units, of: charge.of });
      charge.units -= units;
      charge.refunds.push({ at: now, units });
    } else {
      const of = limiter.take('k', cost);
      if (of.allowed) charges.push({ of, at: now, units: cost, refunds: [] });
    }
    check(charges, limiter, now);
  }
  return charges;
}

const sum = (charges: readonly Charge[], from: number, to: number): number =>
  charges.filter(({ at }) => at >= from && at < to).reduce((total, { units }) => total + units, 0);

/** What each policy has left, according to its definition. */
const MODELS: Readonly<
  Record<string, readonly [Policy, (charges: readonly Charge[], now: number) => number]>
> = {
  'a sliding log': [
    slidingLog({ limit: LIMIT, per: PER }),
    (charges, now) => LIMIT - sum(charges, now - PER + 0.001, now + 1),
  ],
  'a fixed window': [
    fixedWindow({ limit: LIMIT, per: PER }),
    (charges, now) => LIMIT - sum(charges, Math.floor(now / PER) * PER, now + 1),
  ],
  'a sliding window': [
    slidingWindow({ limit: LIMIT, per: PER }),
    (charges, now) => {
      const start = Math.floor(now / PER) * PER;
      const older = sum(charges, start - PER, start) * (1 - (now + 0.0005 - start) / PER);
      return Math.floor(LIMIT - older - sum(charges, start, now + 1));
    },
  ],
};

describe.each(Object.entries(MODELS))('%s', (_, [policy, left]) => {
  test('has as many units left as if refunded units had never been charged', () => {
    fc.assert(
      fc.property(steps, (trace) => {
        run(policy, trace, (charges, limiter, now) => {
          expect(limiter.peek('k').remaining).toBe(Math.max(0, left(charges, now)));
        });
      }),
      { numRuns: 500 },
    );
  });
});

describe.each(Object.entries(CASES))('%s', (name, { policies, atMost, window }) => {
  const isBucket = /bucket|gcra|pacer|several/.test(name);

  test('admits at most its bound in any window, not counting refunded units', () => {
    fc.assert(
      fc.property(steps, (trace) => {
        const charges = run(policies, trace);
        for (const { at: from } of charges) {
          for (const span of [window / 3, window]) {
            const to = from + span - 0.002;
            // A bucket does not know when its units were charged. A late refund gives them back even if they had been replenished.
            const late = charges
              .filter(({ at }) => isBucket && at < from)
              .flatMap(({ refunds }) => refunds)
              .filter(({ at }) => at >= from && at < to)
              .reduce((total, { units }) => total + units, 0);
            expect(sum(charges, from, to)).toBeLessThanOrEqual(atMost(span, 4) + late + 1e-6);
          }
        }
      }),
    );
  });
});

describe('a successful login whose charge is refunded', () => {
  test('does not prevent earlier failures in a sliding log from expiring', () => {
    const { limiter, clock } = open('5/10min sliding-log');
    limiter.take('alice', 4);
    for (let minute = 0; minute < 120; minute++) {
      clock.advance(60_000);
      const of = limiter.take('alice');
      limiter.refund('alice', { of });
    }
    expect(limiter.peek('alice').remaining).toBe(5);
  });

  test('prevents earlier failures from expiring if the refund does not say which charge it undoes', () => {
    const { limiter, clock } = open('5/10min sliding-log');
    limiter.take('alice', 4);
    for (let minute = 0; minute < 120; minute++) {
      clock.advance(60_000);
      limiter.take('alice');
      limiter.refund('alice');
    }
    expect(limiter.peek('alice').remaining).toBe(1);
  });
});

describe('a refund', () => {
  test('gives nothing back for a charge that no longer counts', () => {
    for (const policies of ['5/min sliding-log', '5/min fixed-window', '5/min sliding-window']) {
      const { limiter, clock } = open(policies);
      const of = limiter.take('k', 3);
      clock.advance(130_000);
      limiter.take('k', 4);
      expect(limiter.refund('k', { of }).remaining, policies).toBe(1);
    }
  });

  test('of an earlier action does not undo a later action under minInterval', () => {
    const { limiter, clock } = open(minInterval({ every: '1m' }));
    const first = limiter.take('k');
    clock.advance(60_000);
    const second = limiter.take('k');
    expect(limiter.refund('k', { of: first }).allowed).toBe(false);
    expect(limiter.refund('k', { of: second }).allowed).toBe(true);
  });

  test('gives back what the decision charged, unless an amount is given', () => {
    const { limiter } = open({ requests: '10/min', tokens: '1000/min' });
    const of = limiter.take('k', { cost: { requests: 2, tokens: 300 } });
    const left = (decision: Decision): number[] => decision.policies.map(({ remaining }) => remaining);
    expect(left(of)).toEqual([8, 700]);
    expect(left(limiter.refund('k', { cost: { tokens: 100 }, of }))).toEqual([8, 800]);
    expect(left(limiter.refund('k', { cost: { requests: 1 }, at: of.at }))).toEqual([9, 800]);
    limiter.reset('k');
    const again = limiter.take('k', { cost: { requests: 2, tokens: 300 } });
    expect(left(limiter.refund('k', { of: again }))).toEqual([10, 1000]);
  });
});
