import { describe, expect, test } from 'vitest';
import {
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  leased,
  type Policies,
  slidingLog,
  slidingWindow,
  type Store,
} from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import { planSent } from './asked.ts';
import { type CheckedPolicies, LEASABLE, edges, STALL, stalls, steady, storms, surges } from './scenarios.ts';
import {
  type SimulationResult,
  type Machine,
  overAdmitted,
  type Scenario,
  simulate,
  total,
} from './simulation.ts';

const SEEDS = [1, 2, 3, 4, 5, 6];

/** Simulates the scenario with leases on all nodes. */
function withLeases(scenario: Scenario): Promise<SimulationResult> {
  return simulate({
    ...scenario,
    wrap: (store, machine) => leased(store, { nodes: scenario.nodes, ...machine }),
  });
}

describe.each(Object.entries(LEASABLE))(
  '%s',
  (_, { policies, over }) => {
    test('admits nothing above the limit when leases are held and then spent together', async () => {
      let leases = 0;
      for (const seed of SEEDS) {
        const { spends, calls, decisions } = await withLeases(surges(policies, seed));
        expect(over(spends)).toBe(0);
        leases += calls < decisions / 4 ? 1 : 0;
      }
      expect(leases).toBe(SEEDS.length);
    });

    test('admits nothing above the limit with crashes, stalls, lost answers and a load that moves between nodes', async () => {
      for (const seed of SEEDS) {
        const { spends } = await withLeases(storms(policies, seed));
        expect(over(spends)).toBe(0);
      }
    });
  },
  60_000,
);

describe('the simulation detects', () => {
  /** Units above the limit, summed over all simulations. */
  async function found(
    checked: CheckedPolicies,
    scenarios: readonly Scenario[],
    change: Partial<Scenario>,
  ): Promise<number> {
    let sum = 0;
    for (const scenario of scenarios) {
      const wrap = (store: Store, machine: Machine) => leased(store, { nodes: scenario.nodes, ...machine });
      sum += checked.over((await simulate({ wrap, ...scenario, ...change })).spends);
    }
    return sum;
  }
  const surging = ({ policies }: CheckedPolicies) => SEEDS.map((seed) => surges(policies, seed));

  test.each(['gcra', 'token bucket', 'leaky bucket', 'several'])(
    'a store that does not reduce the burst of its bucket for leases: %s',
    async (name) => {
      const checked = LEASABLE[name];
      const { policies: asWritten } = planSent(checked.policies, 'simulated');
      const tamper = (hit: Hit): Hit => {
        const policies = hit.plan.policies.map((policy, i) =>
          policy.algorithm.lease?.leak === undefined ? policy : asWritten[i],
        );
        return { ...hit, plan: { ...hit.plan, policies } };
      };
      expect(await found(checked, surging(checked), { tamper })).toBeGreaterThan(0);
    },
  );

  test('a store whose sliding log forgets a debit before the last unit of the lease is spent', async () => {
    const checked = LEASABLE['sliding log'];
    const plan = planSent(checked.policies, 'simulated');
    const load = [steady(checked.policies, 4, 400, 60_000)];
    const later = (decision: Decision): Decision => ({
      ...decision,
      policies: decision.policies.map((policy) => ({ ...policy, resetAfter: policy.resetAfter + 400 })),
    });
    const wrap = (store: Store, machine: Machine) =>
      leased({ ...store, apply: async (hit) => later(await store.apply(hit)) }, { nodes: 4, ...machine });
    expect(await found(checked, load, { tamper: (hit) => ({ ...hit, plan }), wrap })).toBeGreaterThan(0);
    expect(await found(checked, load, {})).toBe(0);
  });

  test.each(['fixed window', 'sliding window'])('a lease that outlives its window: %s', async (name) => {
    const checked = LEASABLE[name];
    const load = [edges(checked.policies)];
    const endless = (decision: Decision): Decision => ({
      ...decision,
      policies: decision.policies.map((policy) => ({ ...policy, resetAfter: 1e9 })),
    });
    const wrap = (store: Store, machine: Machine) =>
      leased({ ...store, apply: async (hit) => endless(await store.apply(hit)) }, { nodes: 4, ...machine });
    expect(await found(checked, load, { wrap })).toBeGreaterThan(0);
    expect(await found(checked, load, {})).toBe(0);
  });

  test('a node that spends expired leases because its clock does not notice a stall', async () => {
    const checked = LEASABLE['gcra'];
    const load = SEEDS.map((seed) => stalls(checked.policies, seed));
    const wrap = (store: Store, { clock, random }: Machine) => {
      const start = clock.now();
      const isOver = () => clock.now() - start >= STALL.at + STALL.span;
      const blind = { ...clock, now: () => clock.now() - (isOver() ? STALL.span : 0) };
      return leased(store, { nodes: 4, clock: blind, random });
    };
    expect(await found(checked, load, { wrap })).toBeGreaterThan(0);
    expect(await found(checked, load, {})).toBe(0);
  });
}, 60_000);

describe('with a burst of 10,000 units and 16 nodes', () => {
  const NODES = 16;
  const GOALS: Readonly<Record<string, Policies>> = {
    gcra: gcra({ limit: 1000, per: '1s', burst: 10_000 }),
    'leaky bucket': leakyBucket({ size: 10_000, dripSize: 50, dripRate: '50ms' }),
    'fixed window': fixedWindow({ limit: 10_000, per: '10s' }),
    'sliding window': slidingWindow({ limit: 10_000, per: '10s' }),
    'sliding log': slidingLog({ limit: 10_000, per: '10s' }),
  };
  const LOADS = { 'half the load that the limit admits': 500, 'twice the load that the limit admits': 2000 };
  const cases = Object.entries(LOADS).flatMap(([load, perSecond]) =>
    Object.entries(GOALS).map(([name, policies]) => [load, name, policies, perSecond] as const),
  );
  test.each(cases)(
    'at %s, %s admits nothing above the limit and at least 95 % of what direct checks admit, with at most 0.02 calls per decision',
    async (_, name, policies, perSecond) => {
      // A sliding log gets longer leases only after its demand was observed for a while.
      const length = name === 'sliding log' && perSecond === 500 ? 120_000 : 40_000;
      const load = steady(policies, NODES, perSecond, length);
      const direct = await simulate(load);
      const result = await withLeases(load);
      expect(overAdmitted(policies, result.spends)).toBe(0);
      expect(total(result.spends) / total(direct.spends)).toBeGreaterThanOrEqual(0.95);
      expect(result.calls / result.decisions).toBeLessThanOrEqual(0.02);
    },
    60_000,
  );
});
