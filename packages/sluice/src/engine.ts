/**
 * Every verb, written once over an algorithm's five functions. Time is an argument; the row is the store's.
 *
 * The functions below pass on the same five things: the policies, the cells and where in them the row starts, the time,
 * and where grown rows are. They are arguments and not an object, because this is the path that every check takes.
 */
import type { Cells, Decision, Hit, Millis, PlacedPolicy, Plan, PolicyState } from './contract.ts';
import { convert, keptFor, sign } from './inherit.ts';

/** Rows that grow live outside the table; their one cell in it points here. 0 points to a row of zeros. */
export interface GrownRows {
  get(pointer: number): Cells;
  /** Puts a row in the place of another and returns where it is now. */
  put(pointer: number, row: Cells): number;
}

type Policies = readonly PlacedPolicy[];

/**
 * Applies a hit to the key's row and says what came of it.
 * `blockedUntil` is the end of a block by hand; keeping it, and forgetting a row on 'reset', is the store's part.
 */
export function decide(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  grown: GrownRows,
): Decision {
  if (hit.plan.inherit !== undefined) return decideConverted(hit, cells, at, now, blockedUntil, grown);
  return decideHere(hit, cells, at, now, blockedUntil, grown);
}

/** On a copy that is as this plan would have written it: what does not write must not convert either. */
function decideConverted(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  grown: GrownRows,
): Decision {
  const { plan } = hit;
  const row = cells.slice(at, at + plan.width);
  convert(plan, row, now);
  const decision = decideHere(hit, row, 0, now, blockedUntil, grown);
  if (!writes(hit, decision, blockedUntil > now)) return decision;
  sign(plan, row, decision, now);
  cells.set(row, at);
  return decision;
}

function writes({ verb, plan }: Hit, { taken, allowed }: Decision, blocked: boolean): boolean {
  if (verb === 'peek' || verb === 'reset') return false;
  if (verb !== 'take' && verb !== 'reserve') return true;
  if (taken > 0) return true;
  return verb === 'take' && !allowed && !blocked && plan.policies.some((p) => p.algorithm.countsDenials);
}

function decideHere(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  grown: GrownRows,
): Decision {
  const { policies } = hit.plan;
  const { verb, cost } = hit;
  const block = blockedUntil > now ? blockedUntil - now : 0;

  if (verb === 'take' && hit.mode === 'whole') {
    if (policies.length === 1 && block === 0 && !policies[0].grows)
      return takeOne(policies[0], cells, at, now, cost);
    const passes = block === 0 && waitFor(policies, cells, at, now, grown, cost) === 0;
    if (passes) charge(policies, cells, at, now, grown, cost);
    else if (block === 0) strike(policies, cells, at, now);
    return describe(policies, cells, at, now, grown, block, passes, passes ? cost : 0, cost);
  }
  if (verb === 'take' && hit.mode === 'partial') {
    const taken = block === 0 ? fitting(policies, cells, at, now, grown, cost) : 0;
    if (taken > 0) charge(policies, cells, at, now, grown, taken);
    else if (block === 0) strike(policies, cells, at, now);
    return describe(policies, cells, at, now, grown, block, taken > 0, taken, Math.min(cost, 1));
  }
  if (verb === 'take') {
    const passes = block === 0 && waitFor(policies, cells, at, now, grown, cost) === 0;
    charge(policies, cells, at, now, grown, cost);
    if (!passes && block === 0) strike(policies, cells, at, now);
    return describe(policies, cells, at, now, grown, block, passes, cost, cost);
  }
  if (verb === 'reserve') {
    const delay = block === 0 ? delayOf(policies, cells, at, now, grown, cost) : Infinity;
    const booked = delay < Infinity && delay <= hit.span;
    if (booked) charge(policies, cells, at, now, grown, cost);
    const decision = describe(policies, cells, at, now, grown, block, delay === 0, booked ? cost : 0, cost);
    // Booked: what it waits for is its turn, not what a second one like it would wait for.
    return booked ? { ...decision, retryAfter: delay } : decision;
  }
  if (verb === 'refund' || verb === 'release')
    give(policies, cells, at, now, grown, cost, verb === 'release');
  const asked = verb === 'peek' ? cost : 1;
  const passes = block === 0 && waitFor(policies, cells, at, now, grown, asked) === 0;
  return describe(policies, cells, at, now, grown, block, passes, 0, asked);
}

/** The check that most limiters make, one policy and all or nothing: the same in a third less time. */
function takeOne(policy: PlacedPolicy, cells: Cells, at: number, now: Millis, cost: number): Decision {
  const { algorithm, params, name, limit, window, offset } = policy;
  const start = at + offset;
  const retryAfter = algorithm.waitFor(params, cells, start, now, cost);
  const allowed = retryAfter === 0;
  if (allowed) algorithm.take(params, cells, start, now, cost);
  const remaining = unitsOf(algorithm.available(params, cells, start, now), limit);
  const resetAfter = algorithm.clearIn(params, cells, start, now);
  return {
    allowed,
    taken: allowed ? cost : 0,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    policy: name,
    policies: [{ name, limit, window, remaining, retryAfter, resetAfter }],
    source: 'store',
  };
}

/** Until a whole row is as good as new. */
export function clearIn(plan: Plan, cells: Cells, at: number, now: Millis, grown: GrownRows): Millis {
  let longest = plan.inherit === undefined ? 0 : keptFor(plan, cells, at, now);
  const { policies } = plan;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params, offset, grows } = policies[i];
    const wait = grows
      ? algorithm.clearIn(params, grown.get(cells[at + offset]), 0, now)
      : algorithm.clearIn(params, cells, at + offset, now);
    if (wait > longest) longest = wait;
  }
  return longest;
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
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params, offset, grows } = policies[i];
    const wait = grows
      ? algorithm.waitFor(params, grown.get(cells[at + offset]), 0, now, cost)
      : algorithm.waitFor(params, cells, at + offset, now, cost);
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
  for (const { algorithm, params, offset, grows } of policies) {
    const free = grows
      ? algorithm.available(params, grown.get(cells[at + offset]), 0, now)
      : algorithm.available(params, cells, at + offset, now);
    if (free < least) least = free;
  }
  const units = Math.floor(least);
  return units >= 1 && waitFor(policies, cells, at, now, grown, units) === 0 ? units : 0;
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

function charge(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
): void {
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params, offset, grows } = policies[i];
    if (algorithm.countsDenials) continue;
    if (grows) {
      const pointer = cells[at + offset];
      const row = (algorithm.roomy as NonNullable<typeof algorithm.roomy>)(params, grown.get(pointer), now);
      cells[at + offset] = grown.put(pointer, row);
      algorithm.take(params, row, 0, now, cost);
    } else {
      algorithm.take(params, cells, at + offset, now, cost);
    }
  }
}

/** Tells the policies that count denials of one. */
function strike(policies: Policies, cells: Cells, at: number, now: Millis): void {
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, params, offset } = policies[i];
    if (algorithm.countsDenials) algorithm.take(params, cells, at + offset, now, 1);
  }
}

function give(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  grown: GrownRows,
  cost: number,
  heldOnly: boolean,
): void {
  for (const { algorithm, params, offset, grows } of policies) {
    if (heldOnly && !algorithm.holds) continue;
    if (grows) algorithm.give(params, grown.get(cells[at + offset]), 0, now, cost);
    else algorithm.give(params, cells, at + offset, now, cost);
  }
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
  const states = [stateOf(policies[0], cells, at, now, grown, allowed, cost)];
  for (let i = 1; i < policies.length; i++)
    states.push(stateOf(policies[i], cells, at, now, grown, allowed, cost));
  return decisionOf(states, block, allowed, taken);
}

/** The numbers of the policy that binds: the one that waits longest; when none waits, the one with least left. */
export function decisionOf(states: PolicyState[], block: Millis, allowed: boolean, taken: number): Decision {
  let binding = states[0];
  for (let i = 1; i < states.length; i++) if (isNearer(states[i], binding)) binding = states[i];
  const { name, limit, remaining, retryAfter, resetAfter } = binding;
  if (block > retryAfter) {
    return {
      allowed,
      taken,
      limit,
      remaining: 0,
      retryAfter: block,
      resetAfter: Math.max(block, resetAfter),
      policy: 'block',
      policies: states,
      source: 'store',
    };
  }
  return {
    allowed,
    taken,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    policy: name,
    policies: states,
    source: 'store',
  };
}

/** Whole units of what is free. */
export function unitsOf(free: number, limit: number): number {
  return Math.floor(free < 0 ? 0 : free < limit ? free : limit);
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
  const row = policy.grows ? grown.get(cells[at + policy.offset]) : cells;
  const start = policy.grows ? 0 : at + policy.offset;
  const free = algorithm.available(params, row, start, now);
  return {
    name: policy.name,
    limit,
    window: policy.window,
    remaining: unitsOf(free, limit),
    retryAfter: allowed ? 0 : algorithm.waitFor(params, row, start, now, cost),
    resetAfter: algorithm.clearIn(params, row, start, now),
  };
}

function isNearer(a: PolicyState, b: PolicyState): boolean {
  return a.retryAfter > b.retryAfter || (a.retryAfter === b.retryAfter && a.remaining < b.remaining);
}
