/** Finds the policies' parts of a row, and computes how long the row is needed and how much its eviction would forgive. */
import type { Cells, Millis, PlacedPolicy, Plan, VariableRows } from './contract.ts';

/** How long until a whole row is fully replenished. */
export function clearIn(plan: Plan, cells: Cells, at: number, now: Millis, rows: VariableRows): Millis {
  let longest = plan.inherit?.keptFor(plan, cells, at, now) ?? 0;
  const { policies } = plan;
  for (const policy of policies) {
    const row = rowOf(policy, cells, at, rows);
    const wait = policy.algorithm.clearIn(policy.params, row, startOf(policy, at), now);
    if (wait > longest) longest = wait;
  }
  return longest;
}

/**
 * Eviction weight: 0 if the row is fully replenished. The magnitude is what evicting the row would forgive. The sign is negative
 * while the key is denied.
 */
export function evictionWeight(
  plan: Plan,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
): number {
  let most = plan.inherit?.keptFor(plan, cells, at, now) ?? 0;
  let sign = 1;
  for (const policy of plan.policies) {
    const { algorithm, params, limit } = policy;
    const row = rowOf(policy, cells, at, rows);
    const start = startOf(policy, at);
    const free = algorithm.available(params, row, start, now);
    if (free < 1) sign = -1;
    most = Math.max(most, lossOf(limit, free, algorithm.clearIn(params, row, start, now)));
  }
  return sign * most;
}

/**
 * The number of units that an eviction would forgive, multiplied by the time for which they would still count. The result is
 * multiplied by ten if the key has no units left.
 */
export function lossOf(limit: number, free: number, clear: Millis): number {
  return (free < limit ? limit - free : 1) * Math.min(clear, 1e15) * (free < 1 ? 10 : 1);
}

/** The array that holds a policy's part of the row. */
export function rowOf({ grows, offset }: PlacedPolicy, cells: Cells, at: number, rows: VariableRows): Cells {
  return grows ? rows.get(cells[at + offset]) : cells;
}

/** The offset of the policy's part in the array that `rowOf` returns. */
export function startOf({ grows, offset }: PlacedPolicy, at: number): number {
  return grows ? 0 : at + offset;
}
