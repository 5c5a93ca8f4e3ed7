/** Policies that can be leased, each with its check, and loads that try to exceed them. */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  type Policies,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts';
import {
  excess,
  type Fault,
  overAdmitted,
  randomOf,
  type Scenario,
  type Spend,
  START,
} from './simulation.ts';

export interface CheckedPolicies {
  readonly policies: Policies;
  /** The number of units above what the policies would allow without leases. */
  readonly over: (spends: readonly Spend[]) => number;
}

/** Checks spends with the algorithm itself, by counting the units that it would have denied. */
export function checkedByItself(policies: Policies): CheckedPolicies {
  return { policies, over: (spends) => overAdmitted(policies, spends) };
}

/**
 * Checks by the documented bound for any window: the burst, plus one step for each `every` that has begun. The phase of the
 * steps is free, because debits and spends happen at different times.
 */
export function checkedByBound(
  policies: Policies,
  base: number,
  step: number,
  every: number,
): CheckedPolicies {
  // Windows are half-open, so one that contains both ends is slightly longer than their distance.
  const atMost = (window: number): number => base + Math.ceil((window + 1e-6) / every) * step;
  return { policies, over: (spends) => excess(spends, atMost, { base, rate: step / every }) };
}

export const LEASABLE: Readonly<Record<string, CheckedPolicies>> = {
  gcra: checkedByItself(gcra({ limit: 200, per: '1s', burst: 2000 })),
  'token bucket': checkedByItself(tokenBucket({ capacity: 1500, refill: 300, every: '1s' })),
  'token bucket in steps': checkedByBound(
    tokenBucket({ capacity: 2000, refill: 60, every: '300ms', continuous: false }),
    2000,
    60,
    300,
  ),
  'leaky bucket': checkedByBound(leakyBucket({ size: 2000, dripSize: 20, dripRate: '100ms' }), 2000, 20, 100),
  'fixed window': checkedByItself(fixedWindow({ limit: 2000, per: '10s' })),
  'fixed window from the first hit': checkedByBound(
    fixedWindow({ limit: 2000, per: '10s', align: 'first' }),
    2000,
    2000,
    10_000,
  ),
  'sliding window': checkedByItself(slidingWindow({ limit: 2000, per: '10s' })),
  'sliding log': checkedByItself(slidingLog({ limit: 2000, per: '10s' })),
  'sliding log in sub-windows': {
    policies: slidingLog({ limit: 2000, per: '10s', resolution: 20 }),
    over: (spends) => overAdmitted(slidingLog({ limit: 2000, per: '10s' }), spends),
  },
  several: checkedByItself({
    rate: gcra({ limit: 200, per: '1s', burst: 2000 }),
    window: fixedWindow({ limit: 5000, per: '30s' }),
    log: slidingLog({ limit: 4500, per: '20s' }),
  }),
};

const LENGTH = 30_000;

/** A load slightly below the rate, so that leases are held while the store is full; then a surge on all nodes. */
export function surges(policies: Policies, seed: number): Scenario {
  const nodes = 2 + (seed % 15);
  return {
    seed,
    nodes,
    policies,
    length: LENGTH,
    delay: [0.1, 1],
    load(_, at) {
      const since = at % 12_000;
      return (since < 1900 ? 180 : since < 2100 ? 40_000 : 0) / nodes;
    },
  };
}

export const STALL = { at: 600, span: 10_000 } as const;

/** All nodes stall with leases in hand until the store is full again; then a surge on all of them. */
export function stalls(policies: Policies, seed: number): Scenario {
  const nodes = 4;
  const { at: stop, span } = STALL;
  return {
    seed,
    nodes,
    policies,
    length: stop + span + 1000,
    faults: Array.from({ length: nodes }, (_, node) => ({ kind: 'stall', node, ...STALL })),
    load: (_, at) => (at < stop ? 1500 : at < stop + span ? 0 : 40_000) / nodes,
  };
}

/** A low load at the end of a window of 10 s, and a surge at the beginning of the next. */
export function edges(policies: Policies): Scenario {
  const nodes = 4;
  return {
    seed: 1,
    nodes,
    policies,
    length: 2 * LENGTH,
    load(_, at) {
      const since = (START + at) % 20_000;
      return (since > 18_000 ? 180 : since < 200 ? 40_000 : 0) / nodes;
    },
  };
}

/** A load that moves between nodes, with pauses, crashes, stalls, lost answers and costs above one. */
export function storms(policies: Policies, seed: number): Scenario {
  const random = randomOf(seed);
  const nodes = 1 + Math.floor(random() * 16);
  const period = 500 + random() * 4000;
  const busy = (0.1 + random() * 0.9) * period;
  const turn = 500 + random() * 3000;
  const skew = random();
  const strength = 100 + random() * 3000;
  const fault = (kind: Fault['kind'], longest: number): Fault => ({
    kind,
    node: Math.floor(random() * nodes),
    at: random() * LENGTH,
    span: random() * longest,
  });
  return {
    seed,
    nodes,
    policies,
    length: LENGTH,
    delay: [0.1, random() < 0.3 ? 300 : 3],
    lost: random() * 0.05,
    cost: random() < 0.4 ? (own) => 1 + Math.floor(own() * 5) : () => 1,
    faults: [
      ...Array.from({ length: 12 }, () => fault('stall', 2000)),
      ...Array.from({ length: 4 }, () => fault('losses', 2000)),
      ...Array.from({ length: Math.ceil(nodes / 3) }, () => fault('crash', 1e9)),
    ],
    load(node, at) {
      if (at % period > busy) return 0;
      const isHot = Math.floor(at / turn) % nodes === node;
      return strength * ((1 - skew) / nodes + (isHot ? skew : 0));
    },
  };
}

/** A constant load, spread over all nodes. */
export function steady(policies: Policies, nodes: number, perSecond: number, length: number): Scenario {
  return { seed: 1, nodes, policies, length, load: () => perSecond / nodes };
}
