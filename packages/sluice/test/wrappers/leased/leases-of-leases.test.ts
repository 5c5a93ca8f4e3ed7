/** Tests leases that are part of another lease: their arithmetic, and regional servers between nodes and the store. */
import { describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  leased,
  memory,
  type Policies,
  slidingWindow,
} from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { type Lease, lend, spendable, takeBack } from '../../../src/wrappers/leased/lease.ts';
import { type Terms, termsOf } from '../../../src/wrappers/leased/terms.ts';
import { planSent } from './asked.ts';
import { simulateRegions } from './regions.ts';
import { checkedByBound, checkedByItself, edges, LEASABLE } from './scenarios.ts';
import { overAdmitted, randomOf, type Spend, total } from './simulation.ts';

/** The decision that a node would get if its lease could outlive the lease of its region. */
const endless = (decision: Decision): Decision => ({
  ...decision,
  expiresAfter: undefined,
  policies: decision.policies.map((policy) => ({ ...policy, resetAfter: 1e9 })),
});

describe('with leases that a region passes on to nodes', () => {
  const CASES = {
    gcra: checkedByItself(gcra({ limit: 2, per: '1s', burst: 40 })),
    'leaky bucket': checkedByBound(leakyBucket({ size: 60, dripSize: 2, dripRate: '1s' }), 60, 2, 1000),
    'fixed window': checkedByItself(fixedWindow({ limit: 40, per: '20s' })),
    'sliding window': checkedByItself(slidingWindow({ limit: 40, per: '20s' })),
  };

  /** Buckets that replenish 20 units per second. */
  const BUCKETS = {
    gcra: checkedByItself(gcra({ limit: 20, per: '1s', burst: 400 })),
    'leaky bucket': checkedByBound(leakyBucket({ size: 400, dripSize: 1, dripRate: '50ms' }), 400, 1, 50),
  };

  interface Relay {
    readonly lend: typeof lend;
    /** Converts a decision of the region to the decision that a node gets. */
    readonly told: (decision: Decision) => Decision;
  }
  const SOUND: Relay = { lend, told: (decision) => decision };

  interface Loan {
    readonly from: Lease;
    readonly lease: Lease;
  }

  /** A region leases from the store and passes units on. The region and its nodes wait, spend and return them at random. */
  function haphazard(terms: Terms, seed: number, relay: Relay): Spend[] {
    const random = randomOf(seed);
    const clock = manualClock(1_700_000_000_000);
    const store = memory({ clock });
    const { plan } = terms;
    const hit = (verb: Hit['verb'], cost: number): Decision =>
      store.apply({ verb, plan, key: 'key', cost, mode: 'partial', span: 0 });
    const spends: Spend[] = [];
    function spend(lease: Lease, share: number): void {
      const now = clock.now();
      const units = now < lease.end ? Math.floor(spendable(lease, now)) : 0;
      const part = Math.ceil(units * share);
      lease.left = Math.max(0, Math.min(lease.left, spendable(lease, now)) - part);
      if (part > 0) spends.push({ at: now, cost: part, node: 0 });
    }
    const leases: { readonly lease: Lease; readonly decision: Decision }[] = [];
    const loans: Loan[] = [];
    const oneOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
    const hasty = 1 + random() * 4;
    for (let step = 0; step < 400; step++) {
      clock.advance(random() < 1 / hasty ? random() * terms.duration * 0.3 : 0);
      const now = clock.now();
      const deed = random();
      const held = oneOf(leases);
      const loan = oneOf(loans);
      if (deed < 0.3) {
        const decision = hit('take', 1 + Math.floor(random() * 20));
        if (decision.taken > 0) leases.push({ lease: terms.leaseFrom(decision, now), decision });
      } else if (deed < 0.6 && held !== undefined && now < held.lease.end) {
        const from = held.lease;
        const units = Math.floor(spendable(from, now) * (random() < 0.5 ? 1 : random()));
        if (units < 1) continue;
        relay.lend(from, units, now);
        const decision = { ...held.decision, taken: units, expiresAfter: from.end - now };
        loans.push({ from, lease: terms.leaseFrom(relay.told(decision), now) });
      } else if (deed < 0.7 && held !== undefined) spend(held.lease, random());
      else if (deed < 0.8 && loan !== undefined) spend(loan.lease, random());
      else if (deed < 0.9 && loan !== undefined && now < loan.from.end) {
        takeBack(loan.from, Math.floor(Math.min(loan.lease.left, Math.max(0, spendable(loan.lease, now)))));
        loan.lease.left = 0;
      } else if (deed > 0.96) {
        for (const { lease } of [...leases.splice(0), ...loans.splice(0)]) spend(lease, 1);
        const { taken } = hit('take', 100);
        if (taken > 0) spends.push({ at: now, cost: taken, node: 0 });
      }
    }
    return spends;
  }

  /**
   * A region leases units as they are replenished, and passes on the fraction `part` of each lease when the fraction `age` of its
   * duration has passed. Then the region and its nodes spend all that they hold, and all units left in the store, at the same
   * time.
   */
  function hoarded(terms: Terms, { lend: lendUnits, told }: Relay, age: number, part: number): Spend[] {
    const clock = manualClock(1_700_000_000_000);
    const store = memory({ clock });
    const take = (cost: number): Decision =>
      store.apply({ verb: 'take', plan: terms.plan, key: 'key', cost, mode: 'partial', span: 0 });
    const leases: Lease[] = [];
    for (const start = clock.now(); clock.now() < start + 2 * terms.duration - 100; clock.advance(500)) {
      const decision = take(10);
      const lease = terms.leaseFrom(decision, clock.now());
      leases.push(lease);
      clock.after(age * terms.duration, () => {
        const units = spendable(lease, clock.now()) * part;
        lendUnits(lease, units, clock.now());
        const passedOn = { ...decision, taken: units, expiresAfter: lease.end - clock.now() };
        leases.push(terms.leaseFrom(told(passedOn), clock.now()));
      });
    }
    const now = clock.now();
    const units = leases.reduce((sum, lease) => sum + (now < lease.end ? spendable(lease, now) : 0), 0);
    return [Math.floor(units), take(1000).taken].map((cost) => ({ at: now, cost, node: 0 }));
  }

  const SEEDS = Array.from({ length: 100 }, (_, seed) => seed);
  const careless: typeof lend = (lease, units, now) => {
    lease.left = spendable(lease, now) - units;
  };
  const termsFor = (policies: Policies): Terms => termsOf(planSent(policies), 5000, 1) as Terms;

  test.each(Object.entries(CASES))(
    'the limit of %s holds, whatever the nodes do',
    (_, { policies, over }) => {
      const terms = termsFor(policies);
      for (const seed of SEEDS) expect(over(haphazard(terms, seed, SOUND))).toBe(0);
    },
  );

  test.each(['fixed window', 'sliding window'] as const)(
    'the limit of %s would not hold if the leases of nodes could outlive the lease of their region',
    (name) => {
      const { policies, over } = CASES[name];
      const terms = termsFor(policies);
      const relay = { ...SOUND, told: endless };
      expect(Math.max(...SEEDS.map((seed) => over(haphazard(terms, seed, relay))))).toBeGreaterThan(0);
    },
  );

  describe.each(Object.entries(BUCKETS))(
    'when nodes and regions spend all units at the same time, the limit of %s',
    (_, { policies, over }) => {
      const terms = termsFor(policies);

      test('holds, although the store has reduced the bucket only once', () => {
        for (const age of [0, 0.3, 0.5, 0.8])
          for (const part of [0.2, 0.5, 1]) expect(over(hoarded(terms, SOUND, age, part))).toBe(0);
      });

      test('would not hold if the leases of nodes could outlive the lease of their region', () => {
        expect(over(hoarded(terms, { ...SOUND, told: endless }, 0.5, 1))).toBeGreaterThan(0);
      });

      test('would not hold if the units that a region keeps still faded at the old rate after the region passed units on', () => {
        expect(over(hoarded(terms, { ...SOUND, lend: careless }, 0, 0.5))).toBeGreaterThan(0);
      });
    },
  );
});

describe('a leased store on top of a leased store', () => {
  const policies = fixedWindow({ limit: 2000, per: '20s' });
  const sent: Hit[] = [];
  const clock = manualClock(1_700_000_000_000);
  const inner = memory({ clock });
  const home = {
    ...inner,
    async apply(hit: Hit): Promise<Decision> {
      sent.push(hit);
      return inner.apply(hit);
    },
  };

  test('takes its leases from the lease of the store below it, and returns units that it did not spend', async () => {
    const region = leased(home, { nodes: 2, clock, random: () => 0 });
    const toRegion: Hit[] = [];
    const answers: Decision[] = [];
    const link = {
      clock,
      async apply(hit: Hit): Promise<Decision> {
        toRegion.push(hit);
        const decision = await region.apply(hit);
        answers.push(decision);
        return decision;
      },
      close() {},
    };
    const nodes = [1, 2, 3].map(() => leased(link, { nodes: 6, clock, random: () => 0 }));
    const limiters = nodes.map((store) => createLimiter(policies, { store, name: 'levels' }));
    let admitted = 0;
    for (let i = 0; i < 300; i++) {
      for (const limiter of limiters) if ((await limiter.take('key')).allowed) admitted++;
      // 75 hits per second on all nodes together.
      clock.advance(40);
    }
    expect(admitted).toBe(900);
    const loans = answers.filter(({ expiresAfter }) => expiresAfter !== undefined);
    expect(loans.length).toBeGreaterThan(0);
    for (const { source, at, expiresAfter = 0 } of loans)
      expect([source, expiresAfter > 0 && expiresAfter < 20_000, at !== undefined]).toEqual([
        'lease',
        true,
        true,
      ]);
    expect(sent.length).toBeLessThan(toRegion.length / 2);
    const before = sent.length;
    for (const store of nodes) await store.close();
    // Units that came from the region's lease are returned to the region, which keeps them for other nodes.
    const returned = toRegion.filter(({ verb, of }) => verb === 'refund' && of?.source === 'lease');
    expect(returned.length).toBeGreaterThan(0);
    for (const { of } of sent.slice(before)) expect(of).toEqual({ source: 'store' });
    await region.close();
  });
});

describe('with three regions that are 150 ms away from the store', () => {
  const LIMIT = 480;
  const GOALS: Readonly<Record<string, Policies>> = {
    gcra: gcra({ limit: LIMIT, per: '1s', burst: 9600 }),
    'fixed window': fixedWindow({ limit: 9600, per: '20s' }),
  };
  const CUT = { from: 20_000, until: 80_000 };
  /** No lease lasts longer than this. */
  const LEASE = 5000;

  test.each(Object.keys(GOALS))(
    '%s admits nothing above the limit while one region is cut off for a minute, and at most 1 of 100 takes leaves its region',
    async (name) => {
      const policies = GOALS[name];
      const { spends, takes, calls } = await simulateRegions({
        seed: 1,
        policies,
        length: 100_000,
        regions: 3,
        nodesPerRegion: 4,
        distance: 75,
        load: () => LIMIT / 6,
        isCutOff: (region, at) => region === 2 && at >= CUT.from && at < CUT.until,
      });
      expect(overAdmitted(policies, spends)).toBe(0);
      const sum = (list: readonly number[]) => list.reduce((a, b) => a + b);
      expect(sum(calls) / sum(takes)).toBeLessThan(0.01);
      // The load is half of what the limit admits, so the other regions notice nothing.
      const admitted = [0, 1, 2].map((region) => total(spends.filter(({ node }) => node === region)));
      for (const region of [0, 1]) expect(admitted[region] / takes[region]).toBeGreaterThan(0.93);
      // The region spends the units that it holds, and nothing after they have expired.
      const start = spends[0].at;
      const inRegion = (from: number, until: number) =>
        spends.filter(({ node, at }) => node === 2 && at - start >= from && at - start < until).length;
      expect(inRegion(CUT.from + LEASE, CUT.until)).toBe(0);
      expect(inRegion(CUT.until + 2000, 100_000)).toBeGreaterThan((18 * LIMIT) / 6 / 2);
    },
    60_000,
  );

  const surge = (_: number, at: number): number => {
    const since = at % 12_000;
    return (since < 1900 ? 180 : since < 2100 ? 30_000 : 0) / 3;
  };
  const few = { seed: 1, regions: 3, nodesPerRegion: 3, distance: 75 } as const;

  test.each(['gcra', 'leaky bucket', 'sliding window', 'several'])(
    '%s admits nothing above the limit when all regions spend what they hold at the same time',
    async (name) => {
      const { policies, over } = LEASABLE[name];
      const { spends } = await simulateRegions({ ...few, policies, length: 14_500, load: surge });
      expect(over(spends)).toBe(0);
      expect(total(spends)).toBeGreaterThan(1000);
    },
    60_000,
  );

  test('the simulation detects a lease of a node that outlives its window', async () => {
    const { policies, over } = LEASABLE['fixed window'];
    const { load } = edges(policies);
    const scenario = {
      ...few,
      distance: 20,
      policies,
      length: 45_000,
      load: (_: number, at: number) => load(0, at),
    };
    expect(over((await simulateRegions({ ...scenario, tamper: endless })).spends)).toBeGreaterThan(0);
    expect(over((await simulateRegions(scenario)).spends)).toBe(0);
  }, 60_000);
});
