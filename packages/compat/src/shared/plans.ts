/** Caches one plan per pair of numbers, for APIs that pass the limits with every call. All plans read the same rows. */
import type { Policy } from 'sluice';
import type { Plan } from 'sluice/store';
import { boundedCache } from './bounded-cache.ts';

/** The cache keeps at least this many plans. A plan that was evicted is created again. */
const READY = 1000;

/**
 * Returns a function that returns the plan for a pair of numbers. All plans have the same id, so that any number of them
 * may share the rows of `name`. Therefore, the instant at which a row is fully replenished must not depend on the numbers.
 */
export function plansFor(
  name: string,
  policyOf: (first: number, second: number) => Policy,
): (first: number, second?: number) => Plan {
  const plans = boundedCache<Plan>(READY);
  // Most calls repeat the numbers of the previous call, and converting numbers to text is slow.
  let last: { readonly first: number; readonly second: number; readonly plan: Plan } | undefined;
  return (first, second = 0) => {
    if (last === undefined || first !== last.first || second !== last.second)
      last = { first, second, plan: planOf(first, second) };
    return last.plan;
  };

  function planOf(first: number, second: number): Plan {
    const key = `${first} ${second}`;
    const ready = plans.get(key);
    if (ready !== undefined) return ready;
    const policy = policyOf(first, second);
    const { algorithm, params, limit, window } = policy;
    const refill = algorithm.refill?.(params, limit, window);
    const policies = [{ ...policy, name: 'default', offset: 0, grows: false, refill }];
    const plan: Plan = {
      name,
      policies,
      slots: policies,
      width: algorithm.width(params),
      id: algorithm.name,
      signature: algorithm.name,
    };
    return plans.set(key, plan);
  }
}
