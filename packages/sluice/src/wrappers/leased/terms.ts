/**
 * The terms on which a plan is leased. Units are debited now and spent up to τ later, where τ is the longest duration of a lease.
 * To make up for this delay, the store applies a smaller bucket, or remembers a debit for longer.
 * docs/decisions/0020-strict-leases.md has the proof, and defines the symbols.
 */
import type { Decision, Millis, PlacedPolicy, Plan } from '../../engine/contract.ts';
import type { Lease } from './lease.ts';
import {
  BUCKET_FILL,
  CLOCK_ACCURACY,
  LIGHT_LOG_LOAD,
  LONG_WINDOW,
  MAX_BINDING_DURATION,
  MAX_DURATION,
  MAX_RETURN_DELAY,
  MIN_BATCH,
  MIN_DURATION,
  MIN_LOG_SHARES,
  MIN_UNITS_PER_NODE,
  REMAINING_DIVISOR,
  RENEWED_FILL,
  WINDOW_FILL,
} from './tuning.ts';

export interface Terms {
  /** The longest lease, τ. */
  readonly duration: Millis;
  /** The longest lease while the limit is binding. */
  readonly bindingDuration: Millis;
  /** The longest window. After a limit was binding, it is still treated as binding for this duration. */
  readonly window: Millis;
  /** Whether the window lasts for many leases, so that units that are lost with a process are missing for a long time. */
  readonly hasLongWindow: boolean;
  /** The plan that the store applies both to the batches of leases and to single hits, because both are counted in the same row. */
  readonly plan: Plan;
  /** The same plan, for a lease that lasts τ. A sliding log records such a lease at a later instant. */
  readonly longPlan: Plan;
  /** The largest cost that can pass. */
  readonly largestCost: number;
  /** A node requests at most the units left in the store divided by this number. */
  readonly remainingDivisor: number;
  /** A node may request this many units, even if `remainingDivisor` allows fewer. */
  readonly minBatch: number;
  /** Fraction of the expected demand that a batch covers while the limit is not binding. */
  readonly fill: number;
  /**
   * If the demand on a node exceeds this many units within τ, the limit counts as binding. Infinity if demand does not matter.
   */
  readonly lightDemand: number;
  /** The shortest duration of a new lease. */
  readonly minDuration: Millis;
  /** Whether units left at the end of a lease become part of the next lease, if the next lease is granted in the same window. */
  readonly isRenewable: boolean;
  /**
   * Whether units that are not returned are missing until the window ends. Units of a bucket or a sliding log are replenished
   * anyway.
   */
  readonly hasWindows: boolean;
  /**
   * Whether units of a lease may be passed on to other nodes. Units of a sliding log may not, because their leases are so short
   * that many units would expire unused, and a sliding log counts these for a whole window.
   */
  readonly isLendable: boolean;
  /** The lease that a decision of the store grants. */
  readonly leaseFrom: (decision: Decision, askedAt: Millis) => Lease;
  /** Number of units of the lease that may be returned to the store now. */
  readonly returnable: (lease: Lease, now: Millis) => number;
}

type LeasablePolicy = PlacedPolicy & { readonly lease: NonNullable<PlacedPolicy['algorithm']['lease']> };

/** The policies of a plan, grouped by what happens to their units while they are leased. */
interface Kinds {
  readonly all: readonly LeasablePolicy[];
  /** Buckets, whose units fade, because the store replenishes them while they are held. */
  readonly buckets: readonly LeasablePolicy[];
  /** Windows, whose units last until the window ends. */
  readonly windows: readonly LeasablePolicy[];
  /** Sliding logs, whose units last for a fixed time after the log recorded them. */
  readonly logs: readonly LeasablePolicy[];
}

/** The terms for a plan. Undefined if the plan cannot be leased, or if leases would not save calls. */
export function termsOf(plan: Plan, maxDuration: Millis, nodes: number): Terms | undefined {
  const kinds = kindsOf(plan);
  if (kinds === undefined) return undefined;
  const { all, windows, logs } = kinds;
  const duration = Math.min(maxDuration, ...all.map(({ window }) => window * MAX_DURATION));
  const bindingDuration = Math.min(
    maxDuration,
    ...all.map(({ window, lease }) => window * (lease.shortPart ?? MAX_BINDING_DURATION)),
  );
  if (bindingDuration < MIN_DURATION) return undefined;
  const reduced = reducedPlan(plan, kinds, duration, bindingDuration);
  const largestCost = Math.min(...reduced.policies.map(({ limit }) => limit));
  if (largestCost < MIN_UNITS_PER_NODE * nodes) return undefined;

  /** Number of units that one node gets if the units that are replenished within `time` are divided evenly among all nodes. */
  const evenShare = ({ limit, window }: LeasablePolicy, time: Millis): number =>
    (limit * time) / (window * nodes);
  const window = Math.max(...all.map((policy) => policy.window));
  const hasWindows = windows.length > 0;
  return {
    duration,
    bindingDuration,
    window,
    hasLongWindow: window >= LONG_WINDOW * duration,
    plan: reduced,
    longPlan: logs.length === 0 ? reduced : longLeasePlan(reduced, duration),
    largestCost,
    // Windows and sliding logs replenish late, so all nodes have to get by with the units that are left now.
    remainingDivisor: hasWindows || logs.length > 0 ? REMAINING_DIVISOR * nodes : REMAINING_DIVISOR,
    minBatch: Math.max(
      MIN_BATCH,
      ...(hasWindows ? [] : logs.map((log) => MIN_LOG_SHARES * evenShare(log, bindingDuration))),
    ),
    fill: fillOf(kinds),
    lightDemand: Math.min(...logs.map((log) => LIGHT_LOG_LOAD * evenShare(log, duration))),
    minDuration: hasWindows ? 0 : bindingDuration,
    isRenewable: windows.length === all.length,
    hasWindows,
    isLendable: logs.length === 0,
    leaseFrom: (decision, askedAt) => leaseFrom(kinds, duration, decision, askedAt),
    returnable: (lease, now) => returnable(kinds, lease, now),
  };
}

function kindsOf(plan: Plan): Kinds | undefined {
  const all: LeasablePolicy[] = [];
  for (const policy of plan.policies) {
    const { lease } = policy.algorithm;
    if (lease === undefined) return undefined;
    all.push({ ...policy, lease });
  }
  return {
    all,
    buckets: all.filter(({ lease }) => lease.leak !== undefined),
    windows: all.filter(({ lease }) => lease.lasts !== undefined && lease.dated === undefined),
    logs: all.filter(({ lease }) => lease.dated !== undefined),
  };
}

/** The plan with the reduced burst B′ and with sliding logs that remember entries for σ longer. Decisions report these limits. */
function reducedPlan(plan: Plan, { all }: Kinds, duration: Millis, bindingDuration: Millis): Plan {
  return {
    ...plan,
    id: `${plan.id}&leased:${duration}`,
    policies: plan.policies.map((policy, i) => {
      const { params, limit, window } = {
        limit: policy.limit,
        window: policy.window,
        ...(all[i].lease.reduced?.(policy.params, duration, bindingDuration) ?? { params: policy.params }),
      };
      return { ...policy, params, limit, window, refill: policy.algorithm.refill?.(params, limit, window) };
    }),
  };
}

/** The plan with which a sliding log records the entry of a lease at the end of its sub-window of length τ. */
function longLeasePlan(plan: Plan, duration: Millis): Plan {
  return {
    ...plan,
    id: `${plan.id}&dated:${duration}`,
    policies: plan.policies.map((policy) => ({
      ...policy,
      params: policy.algorithm.lease?.dated?.(policy.params, duration) ?? policy.params,
    })),
  };
}

function fillOf({ all, buckets, windows }: Kinds): number {
  if (windows.length === all.length || (windows.length === 0 && buckets.length === 0)) return RENEWED_FILL;
  return windows.length > 0 ? WINDOW_FILL : BUCKET_FILL;
}

/**
 * The lease that a decision grants. It begins when the node sent the request. It ends when the units of one of the policies
 * expire, at most τ later.
 */
function leaseFrom({ all, buckets }: Kinds, duration: Millis, decision: Decision, askedAt: Millis): Lease {
  let lasts = Infinity;
  let counted = Infinity;
  for (const [i, { lease, params }] of all.entries()) {
    const { resetAfter } = decision.policies[i];
    const ownLasts = lease.lasts?.(params, resetAfter) ?? Infinity;
    lasts = Math.min(lasts, ownLasts);
    counted = Math.min(counted, lease.dated === undefined ? ownLasts : resetAfter);
  }
  const { taken, expiresAfter = Infinity } = decision;
  // A lease that is part of another lease ends no later than that lease. Units of a bucket expire with their lease, not with a window.
  if (buckets.length === 0) lasts = Math.min(lasts, expiresAfter);
  counted = Math.min(counted, expiresAfter);
  const life = Math.min(duration, lasts, expiresAfter) * CLOCK_ACCURACY;
  return {
    left: taken,
    granted: taken,
    askedAt,
    end: askedAt + life,
    unitsPerMs: buckets.length > 0 ? taken / life : Number.MAX_VALUE,
    windowEnd: askedAt + lasts * CLOCK_ACCURACY,
    countedUntil: askedAt + counted * CLOCK_ACCURACY,
    outerEnd: decision.expiresAfter === undefined ? undefined : decision.at,
  };
}

/**
 * Number of units of a lease that may be returned. If the policies include a bucket with the rate r, a lease of age a returns only
 * the units above r·a, because the bucket has replenished the rest.
 */
function returnable({ buckets }: Kinds, { left, askedAt, countedUntil }: Lease, now: Millis): number {
  const arrival = now + MAX_RETURN_DELAY;
  if (arrival >= countedUntil) return 0;
  const replenished = buckets.map(({ lease, params }) => lease.leak?.(params, arrival - askedAt) ?? 0);
  return Math.max(0, Math.floor(left - Math.max(0, ...replenished)));
}
