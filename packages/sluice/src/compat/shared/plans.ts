/** For old APIs whose calls bring their own numbers: plans instead of limiters, all of which read the same rows. */
import type { Plan, Policy } from '../../index.ts';
import { kept } from './kept.ts';

/** Plans kept ready; one that was dropped is made again. */
const READY = 1000;

/**
 * Makes a plan for each set of numbers, once. When a row is clear must not depend on them: all plans have one id, so
 * that any number of them may share the rows of `name`.
 */
export function plansFor<N extends readonly number[]>(
  name: string,
  policyOf: (...numbers: N) => Policy,
): (...numbers: N) => Plan {
  const plans = kept<Plan>(READY);
  // Calls mostly bring the numbers that the last one brought, and to write numbers as text takes a while.
  let last: N | undefined;
  let lastPlan: Plan | undefined;
  return (...numbers) => {
    if (lastPlan !== undefined && numbers.every((number, i) => number === last?.[i])) return lastPlan;
    const plan = planOf(numbers);
    last = numbers;
    lastPlan = plan;
    return plan;
  };

  function planOf(numbers: N): Plan {
    const key = numbers.join(' ');
    const ready = plans.get(key);
    if (ready !== undefined) return ready;
    const policy = policyOf(...numbers);
    const { algorithm, params } = policy;
    const plan: Plan = {
      name,
      policies: [{ ...policy, name: 'default', offset: 0, grows: false }],
      width: algorithm.width(params),
      variant: '',
      id: algorithm.name,
      signature: algorithm.name,
    };
    return plans.set(key, plan);
  }
}
