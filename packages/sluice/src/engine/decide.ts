/**
 * Every verb, written once over an algorithm's five functions. Time is an argument; the row is the store's.
 *
 * The functions below pass on the same five things: the policies, the cells and where in them the row starts, the time,
 * and where grown rows are. They are arguments and not an object, because this is the path that every check takes.
 */
import type {
  Cells,
  Decide,
  Decision,
  GrownRows,
  Millis,
  PlacedPolicy,
  Plan,
  PolicyState,
} from './contract.ts';
import { bookedDecision, decisionOf, heldDecision, makeDecision, policyState, unitsOf } from './decision.ts';

type Policies = readonly PlacedPolicy[];

/**
 * Applies a hit to the key's row and says what came of it.
 * `blockedUntil` is the end of a block by hand; keeping it, and forgetting a row on 'reset', is the store's part.
 */
export const decide: Decide = (hit, cells, at, now, blockedUntil, grown) => {
  const { inherit } = hit.plan;
  if (inherit === undefined) return decideHere(hit, cells, at, now, blockedUntil, grown);
  return inherit.decide(decideHere, hit, cells, at, now, blockedUntil, grown);
};

const decideHere: Decide = (hit, cells, at, now, blockedUntil, grown) => {
  const { policies } = hit.plan;
  const { verb, cost, mode } = hit;
  const block = blockedUntil > now ? blockedUntil - now : 0;

  if (verb === 'take') {
    if (mode === 'whole' && policies.length === 1 && block === 0 && !policies[0].grows)
      return takeOne(policies[0], cells, at, now, cost);
    const partial = mode === 'partial';
    const part = partial ? fitting(policies, cells, at, now, grown, cost) : cost;
    const fits = partial ? part > 0 : waitFor(policies, cells, at, now, grown, cost) === 0;
    const passes = fits && block === 0;
    const isCharged = passes || mode === 'always';
    const span = fits ? Infinity : hit.span;
    const taken = isCharged ? charge(policies, cells, at, now, grown, part, false, span) : 0;
    if (!fits && block === 0) charge(policies, cells, at, now, grown, 1, true);
    const asked = partial ? Math.min(cost, 1) : cost;
    return describe(policies, cells, at, now, grown, block, passes, taken, asked);
  }
  if (verb === 'reserve') {
    const delay = block === 0 ? delayOf(policies, cells, at, now, grown, cost) : Infinity;
    const booked = delay < Infinity && delay <= hit.span;
    if (booked) charge(policies, cells, at, now, grown, cost);
    const decision = describe(policies, cells, at, now, grown, block, delay === 0, booked ? cost : 0, cost);
    // Booked: what it waits for is its turn, not what a second one like it would wait for.
    return booked ? bookedDecision(decision, delay) : decision;
  }
  // A fresh row has nothing to give back, and stays one: stamped with the time, it would bind a clock that then goes back.
  if ((verb === 'refund' || verb === 'release' || verb === 'renew') && !isFresh(hit.plan, cells, at))
    give(policies, cells, at, now, grown, cost, verb !== 'refund', hit.of?.at);
  const holding = verb === 'renew' ? policies.filter(({ algorithm }) => algorithm.holds) : [];
  if (holding.length > 0) {
    const fits = block === 0 && waitFor(holding, cells, at, now, grown, cost) === 0;
    // Its holder runs, whether or not there is room: counted, it keeps others out.
    charge(holding, cells, at, now, grown, cost);
    return describe(policies, cells, at, now, grown, block, fits, cost, cost);
  }
  const asked = verb === 'peek' || verb === 'renew' ? cost : 1;
  const passes = block === 0 && waitFor(policies, cells, at, now, grown, asked) === 0;
  return describe(policies, cells, at, now, grown, block, passes, 0, asked);
};

/** A row of zeros. */
export function isFresh(plan: Plan, cells: Cells, at: number): boolean {
  for (let i = at; i < at + plan.width; i++) if (cells[i] !== 0) return false;
  return true;
}

/** The check that most limiters make, one policy and all or nothing: the same in a third less time. */
function takeOne(policy: PlacedPolicy, cells: Cells, at: number, now: Millis, cost: number): Decision {
  const { algorithm, params, limit, offset } = policy;
  const start = at + offset;
  const retryAfter = algorithm.waitFor(params, cells, start, now, cost);
  const allowed = retryAfter === 0;
  if (allowed) algorithm.take(params, cells, start, now, cost);
  const remaining = unitsOf(algorithm.available(params, cells, start, now), limit);
  const resetAfter = algorithm.clearIn(params, cells, start, now);
  const refill = policy.refill ?? refillOf(policy, cells, start, now, remaining);
  const state = policyState(policy, remaining, retryAfter, resetAfter, refill);
  return makeDecision(state, [state], allowed, allowed ? cost : 0, 'store');
}

/** Until a whole row is as good as new. */
export function clearIn(plan: Plan, cells: Cells, at: number, now: Millis, grown: GrownRows): Millis {
  let longest = plan.inherit?.keptFor(plan, cells, at, now) ?? 0;
  const { policies } = plan;
  for (const policy of policies) {
    const row = rowOf(policy, cells, at, grown);
    const wait = policy.algorithm.clearIn(policy.params, row, startOf(policy, at), now);
    if (wait > longest) longest = wait;
  }
  return longest;
}

/** What would be lost with a row: 0 once it is clear. Below 0: it denies, and what counts is how far below. */
export function worth(plan: Plan, cells: Cells, at: number, now: Millis, grown: GrownRows): number {
  let most = plan.inherit?.keptFor(plan, cells, at, now) ?? 0;
  let sign = 1;
  for (const policy of plan.policies) {
    const { algorithm, params, limit } = policy;
    const row = rowOf(policy, cells, at, grown);
    const start = startOf(policy, at);
    const free = algorithm.available(params, row, start, now);
    if (free < 1) sign = -1;
    most = Math.max(most, lossOf(limit, free, algorithm.clearIn(params, row, start, now)));
  }
  return sign * most;
}

/** Units that would be forgiven times how long they would still count, ten times that where nothing is left. */
export function lossOf(limit: number, free: number, clear: Millis): number {
  return (free < limit ? limit - free : 1) * Math.min(clear, 1e15) * (free < 1 ? 10 : 1);
}

/** The array that holds a policy's part, and where in it that starts. */
function rowOf({ grows, offset }: PlacedPolicy, cells: Cells, at: number, grown: GrownRows): Cells {
  return grows ? grown.get(cells[at + offset]) : cells;
}

function startOf({ grows, offset }: PlacedPolicy, at: number): number {
  return grows ? 0 : at + offset;
}

/** The longest wait: every policy must pass. */
function waitFor(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
): Millis {
  let longest = 0;
  for (const policy of policies) {
    const row = rowOf(policy, cells, at, grown);
    const wait = policy.algorithm.waitFor(policy.params, row, startOf(policy, at), now, cost);
    if (wait > longest) longest = wait;
  }
  return longest;
}

/** How much of the cost passes now: all of it, or as many whole units as every policy has. */
function fitting(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
): number {
  if (waitFor(policies, cells, at, now, grown, cost) === 0) return cost;
  let least = cost;
  for (const policy of policies) {
    const row = rowOf(policy, cells, at, grown);
    const free = policy.algorithm.available(policy.params, row, startOf(policy, at), now);
    if (free < least) least = free;
  }
  const units = Math.floor(least);
  // What is free is a product, what passes a sum: the two may round to different sides of a whole unit.
  for (const fewer of [units, units - 1])
    if (fewer >= 1 && waitFor(policies, cells, at, now, grown, fewer) === 0) return fewer;
  return 0;
}

/** The wait for a turn that can be booked; Infinity where a policy that has to be waited for cannot be overdrawn. */
function delayOf(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
): Millis {
  const delay = waitFor(policies, cells, at, now, grown, cost);
  if (delay === 0) return 0;
  const fixed = policies.filter((policy) => !policy.algorithm.bookable);
  return waitFor(fixed, cells, at, now, grown, cost) === 0 ? delay : Infinity;
}

/**
 * A denial is charged to the policies that count them, everything else to the others: each up to its overdraft within the
 * span. Returns what all of them were charged, because a refund of more would mint.
 */
function charge(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
  denial = false,
  span: Millis = Infinity,
): number {
  let least = cost;
  for (const policy of policies) {
    const { algorithm, params, offset } = policy;
    if ((algorithm.countsDenials ?? false) !== denial) continue;
    const start = startOf(policy, at);
    let row = rowOf(policy, cells, at, grown);
    const part =
      span === Infinity ? cost : (algorithm.overdraft?.(params, row, start, now, cost, span) ?? cost);
    if (part < least) least = part;
    if (part === 0) continue;
    if (algorithm.variableLength !== undefined) {
      row = algorithm.variableLength.grow(params, row, now);
      cells[at + offset] = grown.put(cells[at + offset], row);
    }
    algorithm.take(params, row, start, now, part);
  }
  return least;
}

function give(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
  heldOnly: boolean,
  takenAt: Millis | undefined,
): void {
  for (const policy of policies) {
    const { algorithm, params } = policy;
    if (heldOnly && !algorithm.holds) continue;
    const instant = algorithm.holds ? takenAt : undefined;
    algorithm.give(params, rowOf(policy, cells, at, grown), startOf(policy, at), now, cost, instant);
  }
}

/** The decision with the instant by which the place that was just taken is found again, if the plan holds places. */
function dated(decision: Decision, policies: Policies, cells: Cells, at: number, grown: GrownRows): Decision {
  const policy = policies.find(({ algorithm }) => algorithm.takenAt !== undefined);
  if (policy === undefined) return decision;
  const row = rowOf(policy, cells, at, grown);
  return heldDecision(decision, policy.algorithm.takenAt?.(policy.params, row, startOf(policy, at)));
}

/** The row in words. */
export function describe(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  block: Millis,
  allowed: boolean,
  taken: number,
  cost: number,
): Decision {
  const states = policies.map((policy) => stateOf(policy, cells, at, now, grown, allowed, cost));
  const decision = decisionOf(states, block, allowed, taken);
  return taken > 0 ? dated(decision, policies, cells, at, grown) : decision;
}

function stateOf(
  policy: PlacedPolicy,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  allowed: boolean,
  cost: number,
): PolicyState {
  const { algorithm, params, limit } = policy;
  const row = rowOf(policy, cells, at, grown);
  const start = startOf(policy, at);
  const remaining = unitsOf(algorithm.available(params, row, start, now), limit);
  return policyState(
    policy,
    remaining,
    allowed ? 0 : algorithm.waitFor(params, row, start, now, cost),
    algorithm.clearIn(params, row, start, now),
    policy.refill ?? refillOf(policy, row, start, now, remaining),
  );
}

/** Until there is one unit more. Some algorithms let any cost pass, so a limit that is reached is not asked about. */
function refillOf(
  { algorithm, params, limit }: PlacedPolicy,
  row: Cells,
  start: number,
  now: Millis,
  remaining: number,
): Millis {
  return hasMore(remaining, limit) ? algorithm.waitFor(params, row, start, now, remaining + 1) : Infinity;
}

/** Whether there can ever be more than this. */
export function hasMore(remaining: number, limit: number): boolean {
  return remaining + 1 <= limit && remaining < Infinity;
}
