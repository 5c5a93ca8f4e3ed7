/** For old APIs whose calls bring their own numbers: plans instead of limiters, all of which read the same rows. */
import type { Policy } from 'sluice';
import type { Plan } from 'sluice/store';
import { boundedCache } from './bounded-cache.ts';

/** Plans kept ready; one that was dropped is made again. */
const READY = 1000;

/**
 * Makes a plan for each pair of numbers, once. When a row is clear must not depend on them: all plans have one id, so
 * that any number of them may share the rows of `name`.
 */
export function plansFor(
  name: string,
  policyOf: (first: number, second: number) => Policy,
): (first: number, second?: number) => Plan {
  const plans = boundedCache<Plan>(READY);
  // Calls mostly bring the numbers that the last one brought, and to write numbers as text takes a while.
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
