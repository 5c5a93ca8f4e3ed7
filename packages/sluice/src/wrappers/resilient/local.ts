/**
 * Decides in this process, in memory, by each limiter's own policies: for a store that cannot be asked. Rows stay until
 * they are fully replenished, also when the store is back, so that an outage that comes and goes grants no second burst.
 */
import type { Decision, Hit, MaybePromise, Plan, PlacedPolicy, Store } from '../../engine/contract.ts';
import type { GivenClock } from '../../internal/clock.ts';
import { memory } from '../../stores/memory/memory.ts';
import { PROBE_EVERY } from './breaker.ts';

/** Keys kept for each limiter; a further one evicts the key closest to being fully replenished. */
const MOST_KEYS = 100_000;

export interface Local {
  apply(hit: Hit): Decision;
  close(): MaybePromise<void>;
}

/** `share`: the part of each limit that this process may use. */
export function localTo(share: number, clock: GivenClock | undefined): Local {
  const store: Store<Decision> = memory({ maxKeys: MOST_KEYS, clock });
  const shares = new WeakMap<Plan, Plan>();

  function shareOf(plan: Plan): Plan {
    const known = shares.get(plan) ?? {
      ...plan,
      policies: plan.policies.map((policy) => part(policy, share)),
    };
    shares.set(plan, known);
    return known;
  }

  return {
    apply(hit) {
      if (share === 1) return { ...store.apply(hit), source: 'fallback' };
      const { plan, cost } = hit;
      const decision = store.apply({ ...hit, plan: shareOf(plan) });
      // Too much for the share alone passes when the store is back.
      const mayPass = decision.retryAfter === Infinity && plan.policies.every(({ limit }) => cost <= limit);
      return { ...decision, source: 'fallback', ...(mayPass && { retryAfter: PROBE_EVERY }) };
    },
    close: () => store.close(),
  };
}

/** A policy by which every unit costs more, so that only this part of the limit passes; but at least one unit. */
function part(policy: PlacedPolicy, share: number): PlacedPolicy {
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

/** 1 / (1 / 49) is not 49. */
function withoutFloatError(value: number): number {
  const whole = Math.round(value);
  return Math.abs(value - whole) < 1e-9 ? whole : value;
}
