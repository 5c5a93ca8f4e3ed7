/**
 * Decides in memory, with each limiter's own policies, while the store is unavailable. Rows are kept until they are fully
 * replenished, even after the store is back, so that a second outage does not grant a second burst.
 */
import type { Decision, Hit, MaybePromise, Plan, PlacedPolicy, Store } from '../../engine/contract.ts';
import { costAt } from '../../engine/charge.ts';
import type { GivenClock } from '../../internal/clock.ts';
import { memory } from '../../stores/memory/memory.ts';
import { PROBE_EVERY } from './breaker.ts';

/** Maximum number of keys for each limiter. Beyond that, the key closest to being fully replenished is evicted. */
const MAX_KEYS = 100_000;

/** Answers hits without the store. */
export interface Local {
  apply(hit: Hit): Decision;
  close(): MaybePromise<void>;
}

/** Creates the fallback that answers in memory. `share` is the fraction of each limit that this process may use. */
export function localDecisions(share: number, clock: GivenClock | undefined): Local {
  const store: Store<Decision> = memory({ maxKeys: MAX_KEYS, clock });
  const sharedPlans = new WeakMap<Plan, Plan>();

  function planWithShare(plan: Plan): Plan {
    const known = sharedPlans.get(plan) ?? {
      ...plan,
      policies: plan.policies.map((policy) => withShare(policy, share)),
    };
    sharedPlans.set(plan, known);
    return known;
  }

  return {
    apply(hit) {
      if (share === 1) return { ...store.apply(hit), source: 'fallback' };
      const { plan, cost } = hit;
      const decision = store.apply({ ...hit, plan: planWithShare(plan) });
      // A cost above this process's fraction of the limit, but within the whole limit, can pass when the store is back.
      const mayPass =
        decision.retryAfter === Infinity && plan.policies.every(({ limit }, i) => costAt(cost, i) <= limit);
      return { ...decision, source: 'fallback', ...(mayPass && { retryAfter: PROBE_EVERY }) };
    },
    close: () => store.close(),
  };
}

/** Reduces a policy to the fraction `share` of its limit, but never below one unit, by multiplying every cost. */
function withShare(policy: PlacedPolicy, share: number): PlacedPolicy {
  const { algorithm, limit } = policy;
  const price = Math.max(1, Math.min(withoutFloatError(1 / share), limit));
  if (price === 1 || algorithm.countsDenials === true) return policy;
  return {
    ...policy,
    limit: Math.floor(limit / price),
    refill: undefined,
    algorithm: {
      ...algorithm,
      available: (params, row, at, now) => algorithm.available(params, row, at, now) / price,
      waitFor: (params, row, at, now, cost) => algorithm.waitFor(params, row, at, now, cost * price),
      take: (params, row, at, now, cost) => algorithm.take(params, row, at, now, cost * price),
      give: (params, row, at, now, cost, takenAt) =>
        algorithm.give(params, row, at, now, cost * price, takenAt),
      ...(algorithm.booking && {
        booking: {
          overdraft: (params, row, at, now, cost, span) =>
            (algorithm.booking?.overdraft(params, row, at, now, cost * price, span) ?? 0) / price,
        },
      }),
    },
  };
}

/** Rounds a value that is almost an integer; for example, 1 / (1 / 49) is not exactly 49. */
function withoutFloatError(value: number): number {
  const whole = Math.round(value);
  return Math.abs(value - whole) < 1e-9 ? whole : value;
}
