/**
 * What a hit does to all policies of a plan: how long it must wait, what it charges, and what it gives back.
 *
 * Most functions take the same arguments: the policies, the cells, the offset at which the row starts, the time, and the
 * variable-length rows. They are separate arguments, because every check calls these functions, and creating an object for each
 * call would take time.
 */
import type { Cells, Cost, Hit, Millis, PlacedPolicy, VariableRows } from './contract.ts';
import { rowOf, startOf } from './row.ts';

export type Policies = readonly PlacedPolicy[];

/** The hit's cost for the policy with this index. */
export function costAt(cost: Cost, index: number): number {
  return typeof cost === 'number' ? cost : cost[index];
}

/** The units that must be available for a hit: its cost, plus the units that it must leave free. */
export function neededFor(cost: Cost, keep: Hit['keep']): Cost {
  if (keep === undefined) return cost;
  return keep.map((units, i) => (costAt(cost, i) === 0 ? 0 : costAt(cost, i) + units));
}

/** Whether a hit ignores the policy, because the hit's list of costs contains 0 for this policy. */
export function isExempt(cost: Cost, index: number): boolean {
  return typeof cost !== 'number' && cost[index] === 0;
}

/** The longest wait among all policies, or among those that `isAsked` selects, because every one of them must allow the cost. */
export function waitFor(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  cost: Cost,
  isAsked?: (policy: PlacedPolicy) => boolean,
): Millis {
  let longest = 0;
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i];
    if (isExempt(cost, i) || isAsked?.(policy) === false) continue;
    const row = rowOf(policy, cells, at, rows);
    const wait = policy.algorithm.waitFor(policy.params, row, startOf(policy, at), now, costAt(cost, i));
    if (wait > longest) longest = wait;
  }
  return longest;
}

/** The part of the cost that is allowed now, which is all of it or else as many whole units as every policy has available. */
export function fitting(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  cost: number,
  keep: Hit['keep'],
): number {
  const isAllowed = (units: number): boolean =>
    waitFor(policies, cells, at, now, rows, neededFor(units, keep)) === 0;
  if (isAllowed(cost)) return cost;
  let least = cost;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params } = policies[i];
    const row = rowOf(policies[i], cells, at, rows);
    const free = algorithm.available(params, row, startOf(policies[i], at), now) - (keep?.[i] ?? 0);
    if (free < least) least = free;
  }
  const units = Math.floor(least);
  // `available` multiplies and `waitFor` adds, so rounding may put their results on different sides of a whole number. Therefore
  // one unit less is tried as well.
  for (const fewer of [units, units - 1]) if (fewer >= 1 && isAllowed(fewer)) return fewer;
  return 0;
}

/** The wait for a turn that can be booked. Infinity if a policy does not allow the cost now and does not support booking. */
export function delayOf(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  cost: Cost,
): Millis {
  const delay = waitFor(policies, cells, at, now, rows, cost);
  if (delay === 0) return 0;
  const isFixed = ({ algorithm }: PlacedPolicy): boolean => algorithm.booking === undefined;
  return waitFor(policies, cells, at, now, rows, cost, isFixed) === 0 ? delay : Infinity;
}

/** Whether the policy is charged for costs, and not for denials. */
export function isChargedCosts({ algorithm }: PlacedPolicy): boolean {
  return algorithm.countsDenials !== true;
}

/** Whether the policy is charged once for each denial by another policy. */
export function isChargedDenials({ algorithm }: PlacedPolicy): boolean {
  return algorithm.countsDenials === true;
}

/**
 * Whether `settle` adjusts the policy's charge to what was actually used. It does not adjust places, because their holder releases
 * them.
 */
export function isSettled({ algorithm }: PlacedPolicy): boolean {
  return algorithm.countsDenials !== true && algorithm.hold === undefined;
}

/** Whether the policy's units are held until they are released. */
export function isHolding({ algorithm }: PlacedPolicy): boolean {
  return algorithm.hold !== undefined;
}

/**
 * Charges the policies that `isCharged` selects. If `span` is finite, the charge of a policy that supports booking is limited, so
 * that the policy allows its next unit within `span`. Returns what each policy was charged.
 */
export function charge(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  cost: Cost,
  isCharged: (policy: PlacedPolicy) => boolean,
  span: Millis = Infinity,
): number[] {
  return policies.map((policy, i) => {
    const { algorithm, params, offset } = policy;
    const whole = costAt(cost, i);
    if (!(whole > 0) || !isCharged(policy)) return 0;
    const start = startOf(policy, at);
    let row = rowOf(policy, cells, at, rows);
    const part =
      span === Infinity
        ? whole
        : (algorithm.booking?.overdraft(params, row, start, now, whole, span) ?? whole);
    if (part === 0) return 0;
    if (algorithm.variableLength !== undefined) {
      row = algorithm.variableLength.grow(params, row, now);
      cells[at + offset] = rows.put(cells[at + offset], row);
    }
    algorithm.take(params, row, start, now, part);
    return part;
  });
}

/**
 * Computes `Decision.taken` from what each policy was charged. If all policies had the same cost, `taken` is the smallest of these
 * amounts, because giving back more than that would create units.
 */
export function takenOf(policies: Policies, cost: Cost, parts: readonly number[]): number {
  if (typeof cost !== 'number') return Math.max(...parts);
  let least = cost;
  for (let i = 0; i < parts.length; i++)
    if (isChargedCosts(policies[i]) && parts[i] < least) least = parts[i];
  return least;
}

/** Gives units back to all policies, or to those that `isGiven` selects. `takenAt` is when they were charged, if that is known. */
export function give(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  cost: Cost,
  isGiven: ((policy: PlacedPolicy) => boolean) | undefined,
  takenAt: Millis | undefined,
): void {
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i];
    const units = costAt(cost, i);
    if (!(units > 0) || isGiven?.(policy) === false) continue;
    const row = rowOf(policy, cells, at, rows);
    policy.algorithm.give(policy.params, row, startOf(policy, at), now, units, takenAt);
  }
}
