/** Tests the terms of leases without the logic of a node. Whatever holders do with their leases, the limit must hold. */
import { describe, expect, test } from 'vitest';
import { type Decision, memory, type Policies } from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { type Lease, spendable } from '../../../src/wrappers/leased/lease.ts';
import { type Terms, termsOf } from '../../../src/wrappers/leased/terms.ts';
import { planSent } from './asked.ts';
import { checkedByBound, checkedByItself } from './scenarios.ts';
import { randomOf, type Spend } from './simulation.ts';

const LONGEST = 5000;

const CASES = {
  gcra: checkedByItself(gcra({ limit: 2, per: '1s', burst: 40 })),
  'leaky bucket': checkedByBound(leakyBucket({ size: 60, dripSize: 2, dripRate: '1s' }), 60, 2, 1000),
  'fixed window': checkedByItself(fixedWindow({ limit: 40, per: '20s' })),
  'sliding window': checkedByItself(slidingWindow({ limit: 40, per: '20s' })),
  'sliding log': checkedByItself(slidingLog({ limit: 40, per: '25s' })),
  several: checkedByItself({
    rate: gcra({ limit: 2, per: '1s', burst: 40 }),
    log: slidingLog({ limit: 80, per: '30s' }),
  }),
};

/** How much holders return, and how much they may spend before a lease ends. */
interface Habits {
  readonly returnable: Terms['returnable'];
  readonly left: (lease: Lease, now: number) => number;
}

/** Holders lease, wait, spend some or all units, and return the rest. A return takes up to a second to reach the store. */
function haphazard(terms: Terms, seed: number, { returnable, left }: Habits): Spend[] {
  const random = randomOf(seed);
  const clock = manualClock(1_700_000_000_000);
  const store = memory({ clock });
  const hit = (verb: Hit['verb'], cost: number, mode: Hit['mode'], plan = terms.plan): Decision =>
    store.apply({ verb, plan, key: 'key', cost, mode, span: 0 });
  const spends: Spend[] = [];
  const pass = (cost: number): void => {
    if (cost > 0) spends.push({ at: clock.now(), cost, node: 0 });
  };
  const leases: Lease[] = [];
  const hasty = 1 + random() * 4;
  for (let step = 0; step < 300; step++) {
    clock.advance(random() < 1 / hasty ? random() * terms.duration : 0);
    const now = clock.now();
    const [lease] = leases.length > 0 ? leases.splice(Math.floor(random() * leases.length), 1) : [];
    const deed = random();
    if (deed < 0.4) {
      const plan = random() < 0.5 ? terms.longPlan : terms.plan;
      const decision = hit('take', 1 + Math.floor(random() * 40), 'partial', plan);
      if (decision.taken > 0) leases.push(terms.leaseFrom(decision, now));
      if (lease !== undefined) leases.push(lease);
    } else if (lease !== undefined && deed < 0.6) {
      if (now < lease.end) {
        const units = Math.floor(left(lease, now));
        const part = random() < 0.5 ? units : Math.ceil(random() * units);
        lease.left = units - part;
        pass(part);
      }
      if (lease.left > 0) leases.push(lease);
    } else if (lease !== undefined && deed < 0.85) {
      const units = returnable(lease, now);
      if (units > 0) clock.after(random() * 999, () => hit('refund', units, 'whole'));
    } else if (deed < 0.97) {
      pass(hit('take', 1, 'whole').taken);
    } else {
      for (const live of leases.splice(0)) if (now < live.end) pass(Math.floor(left(live, now)));
      pass(hit('take', 100, 'partial').taken);
    }
  }
  return spends;
}

/**
 * Holders lease units as they are replenished, and hold them until a lease is about to end. Then they spend all of them, and all
 * units left in the store.
 */
function hoarded(terms: Terms, left: Habits['left']): Spend[] {
  const clock = manualClock(1_700_000_000_000);
  const store = memory({ clock });
  const take = (cost: number): Decision =>
    store.apply({ verb: 'take', plan: terms.longPlan, key: 'key', cost, mode: 'partial', span: 0 });
  const leases: Lease[] = [];
  const end = clock.now() + terms.duration - 100;
  for (; clock.now() < end; clock.advance(500)) leases.push(terms.leaseFrom(take(1), clock.now()));
  const now = clock.now();
  const units = leases.reduce((sum, lease) => sum + (now < lease.end ? left(lease, now) : 0), 0);
  return [Math.floor(units), take(1000).taken].map((cost) => ({ at: now, cost, node: 0 }));
}

const SEEDS = Array.from({ length: 300 }, (_, seed) => seed);

describe.each(Object.entries(CASES))('%s', (_, { policies, over }) => {
  const terms = termsOf(planSent(policies), LONGEST, 1) as Terms;
  const sound: Habits = { returnable: terms.returnable, left: spendable };
  const worst = (habits: Habits): number =>
    Math.max(...SEEDS.map((seed) => over(haphazard(terms, seed, habits))));

  test('the limit holds, whatever holders do with leases', () => {
    expect(worst(sound)).toBe(0);
    expect(over(hoarded(terms, spendable))).toBe(0);
  });

  test('the limit would not hold if all unused units could be returned at any time', () => {
    expect(worst({ ...sound, returnable: ({ left }) => left })).toBeGreaterThan(0);
  });
});

test.each(['gcra', 'leaky bucket', 'several'] as const)(
  'the limit of %s would not hold if units did not fade',
  (name) => {
    const { policies, over } = CASES[name];
    const terms = termsOf(planSent(policies), LONGEST, 1) as Terms;
    expect(over(hoarded(terms, ({ left }) => left))).toBeGreaterThan(0);
  },
);

describe('leases are not used for', () => {
  const rate = gcra({ limit: 1000, per: '1s' });
  test.each<[string, Policies]>([
    ['concurrency', concurrency({ limit: 1000, lease: '1m' })],
    ['minInterval', minInterval({ every: '10ms' })],
    ['pacer', pacer({ limit: 1000, per: '1s' })],
    ['penalty', { rate, lockout: penalty({ after: 3, within: '1m', block: '1m' }) }],
    [
      'a bucket that is refilled completely in one step',
      tokenBucket({ capacity: 1000, refill: 1000, every: '1m', continuous: false }),
    ],
    ['a limit below 20 units per node', gcra({ limit: 70, per: '1m' })],
    ['a window so short that a lease would end before it is used', gcra({ limit: 1000, per: '100ms' })],
  ])('%s', (_, policies) => {
    expect(termsOf(planSent(policies), LONGEST, 4)).toBeUndefined();
  });
});
