/**
 * The fast path for the most frequent hit: a take of the whole cost from a row of fixed size. Its decisions are the same as those
 * of `decide`, but it needs no hit object and calls each algorithm only once.
 */
import type {
  Algorithm,
  Cells,
  Clock,
  Decision,
  Millis,
  PlacedPolicy,
  Plan,
  PolicyState,
  VariableRows,
} from '../../engine/contract.ts';
import { describe, refillOf } from '../../engine/decide.ts';
import { decisionOf, makeDecision, policyState, unitsOf } from '../../engine/decision.ts';
import type { Space } from './space.ts';

export type Taker = (key: string, cost: number) => Decision;

/** A policy whose algorithm has the `attempt` capability. */
export type Plain = PlacedPolicy & { readonly algorithm: Algorithm & Required<Pick<Algorithm, 'attempt'>> };

/**
 * Creates the fast path of a plan. Returns undefined if one of the plan's policies, or a conversion of rows, needs `decide`.
 * `spaceOf` returns the plan's rows.
 */
export function takerOf(plan: Plan, clock: Clock, spaceOf: (plan: Plan) => Space): Taker | undefined {
  const policies = plan.policies.filter(isPlain);
  if (plan.inherit !== undefined || policies.length < plan.policies.length) return undefined;
  const [only] = policies;
  let space: Space | undefined;
  return (key, cost) => {
    const now = clock.now();
    if (space === undefined || space.isDropped) space = spaceOf(plan);
    const { table } = space;
    if (space.hasNotes || space.group.blocks !== undefined)
      return space.apply({ verb: 'take', plan, key, cost, mode: 'whole', span: 0 }, now);
    let at = table.find(key);
    if (at < 0) at = space.add(key, now);
    return policies.length === 1
      ? takeOne(only, table.cells, at, now, cost)
      : takeAll(policies, table.cells, at, now, cost);
  };
}

export function isPlain(policy: PlacedPolicy): policy is Plain {
  return policy.algorithm.attempt !== undefined;
}

/** The two numbers that `attempt` writes: the available units, and the time until the row is fully replenished. */
const out: Cells = new Float64Array(2);
/** Policies that have `attempt` have no variable-length rows. */
const NO_ROWS: VariableRows = { get: () => out, put: () => 0 };

export function takeOne(policy: Plain, cells: Cells, at: number, now: Millis, cost: number): Decision {
  const start = at + policy.offset;
  const retryAfter = policy.algorithm.attempt(policy.params, cells, start, now, cost, out);
  const resetAfter = out[1];
  const remaining = unitsOf(out[0], policy.limit);
  const refill = policy.refill ?? refillOf(policy, cells, start, now, remaining);
  const allowed = retryAfter === 0;
  const taken = allowed ? cost : 0;
  const state = policyState(policy, remaining, retryAfter, resetAfter, refill, taken);
  return makeDecision(state, [state], allowed, taken, 'store', allowed ? now : undefined);
}

/** Charges every policy, or none if one of them does not allow the cost. */
export function takeAll(
  policies: readonly Plain[],
  cells: Cells,
  at: number,
  now: Millis,
  cost: number,
): Decision {
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params, offset } = policies[i];
    if (algorithm.waitFor(params, cells, at + offset, now, cost) > 0)
      return describe(policies, cells, at, now, NO_ROWS, 0, false, 0, 0, cost);
  }
  const states: PolicyState[] = [];
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i];
    const start = at + policy.offset;
    policy.algorithm.attempt(policy.params, cells, start, now, cost, out);
    const resetAfter = out[1];
    const remaining = unitsOf(out[0], policy.limit);
    const refill = policy.refill ?? refillOf(policy, cells, start, now, remaining);
    states.push(policyState(policy, remaining, 0, resetAfter, refill, cost));
  }
  return decisionOf(states, 0, true, cost, now);
}
