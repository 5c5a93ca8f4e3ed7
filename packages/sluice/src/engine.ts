/**
 * Every verb, written once over an algorithm's five functions. Time is an argument; the row is the store's.
 */
import type { Algorithm, Cells, Decision, Hit, Millis, PlacedPolicy, Plan, PolicyState } from './contract.ts';

/** Rows that grow live outside the table; their one cell in it points here. 0 points to a row of zeros. */
export interface GrownRows {
  get(pointer: number): Cells;
  /** Puts a row in the place of another and returns where it is now. */
  put(pointer: number, row: Cells): number;
}

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
  const { verb, cost, plan } = hit;
  const state: State = { policies: plan.policies, cells, at, now, grown, block: Math.max(0, blockedUntil - now) };
  if (verb === 'take') {
    if (hit.mode === 'whole') return takeWhole(state, cost);
    return hit.mode === 'partial' ? takePartial(state, cost) : takeAlways(state, cost);
  }
  if (verb === 'reserve') return reserve(state, cost, hit.span);
  if (verb === 'refund') give(state, cost, isRate);
  if (verb === 'release') give(state, cost, isHeld);
  const asked = verb === 'peek' ? cost : 1;
  return describe(state, waitFor(state, asked) === 0, 0, asked);
}

/** Until a whole row is as good as new. */
export function clearIn(plan: Plan, cells: Cells, at: number, now: Millis, grown: GrownRows): Millis {
  let longest = 0;
  for (const policy of plan.policies) {
    const { algorithm, params } = policy;
    const wait = algorithm.roomy
      ? algorithm.clearIn(params, grown.get(cells[at + policy.offset]), 0, now)
      : algorithm.clearIn(params, cells, at + policy.offset, now);
    if (wait > longest) longest = wait;
  }
  return longest;
}

/** What the functions below pass to each other. */
interface State {
  readonly policies: readonly PlacedPolicy[];
  readonly cells: Cells;
  readonly at: number;
  readonly now: Millis;
  readonly grown: GrownRows;
  /** What is left of a block by hand. */
  readonly block: Millis;
}

function rowOf(state: State, policy: PlacedPolicy): Cells {
  return policy.algorithm.roomy ? state.grown.get(state.cells[state.at + policy.offset]) : state.cells;
}

function startOf(state: State, policy: PlacedPolicy): number {
  return policy.algorithm.roomy ? 0 : state.at + policy.offset;
}

/** The longest wait of all policies and the block: every one of them must pass. */
function waitFor(state: State, cost: number): Millis {
  let longest = state.block;
  for (const policy of state.policies) {
    const wait = policy.algorithm.waitFor(policy.params, rowOf(state, policy), startOf(state, policy), state.now, cost);
    if (wait > longest) longest = wait;
  }
  return longest;
}

function takeWhole(state: State, cost: number): Decision {
  if (waitFor(state, cost) > 0) return deny(state, 0, cost);
  charge(state, cost, passes);
  return describe(state, true, cost, cost);
}

/** As much as fits, in whole units; all of it if it fits whole. */
function takePartial(state: State, cost: number): Decision {
  if (waitFor(state, cost) === 0) {
    charge(state, cost, passes);
    return describe(state, true, cost, cost);
  }
  let fits = state.block > 0 ? 0 : cost;
  for (const policy of state.policies) {
    fits = Math.min(fits, policy.algorithm.available(policy.params, rowOf(state, policy), startOf(state, policy), state.now));
  }
  fits = Math.floor(fits);
  if (fits < 1 || waitFor(state, fits) > 0) return deny(state, 0, Math.min(cost, 1));
  charge(state, fits, passes);
  return describe(state, true, fits, fits);
}

function takeAlways(state: State, cost: number): Decision {
  const allowed = waitFor(state, cost) === 0;
  charge(state, cost, passes);
  return allowed ? describe(state, true, cost, cost) : deny(state, cost, cost);
}

/** Books the turn: taken > 0 and retryAfter = the delay. Where it cannot be booked, nothing is taken. */
function reserve(state: State, cost: number, longest: Millis): Decision {
  let delay = 0;
  let bookable = state.block === 0;
  for (const policy of state.policies) {
    const wait = policy.algorithm.waitFor(policy.params, rowOf(state, policy), startOf(state, policy), state.now, cost);
    if (wait > delay) delay = wait;
    if (wait > 0 && !policy.algorithm.bookable) bookable = false;
  }
  if (!bookable || delay === Infinity || delay > longest) return deny(state, 0, cost);
  charge(state, cost, passes);
  return { ...describe(state, delay === 0, cost, cost), retryAfter: delay };
}

/** A denial, and what it costs: strikes for the policies that count them, unless one of those denied. */
function deny(state: State, taken: number, cost: number): Decision {
  charge(state, 1, isStruck);
  return describe(state, false, taken, cost);
}

const passes = (algorithm: Algorithm): boolean => !algorithm.countsDenials;
const isStruck = (algorithm: Algorithm): boolean => algorithm.countsDenials === true;
const isRate = passes;
const isHeld = (algorithm: Algorithm): boolean => algorithm.holds === true;

function charge(state: State, cost: number, which: (algorithm: Algorithm) => boolean): void {
  for (const policy of state.policies) {
    const { algorithm, params, offset } = policy;
    if (!which(algorithm)) continue;
    if (algorithm.roomy) {
      const pointer = state.cells[state.at + offset];
      const row = algorithm.roomy(params, state.grown.get(pointer), state.now);
      state.cells[state.at + offset] = state.grown.put(pointer, row);
      algorithm.take(params, row, 0, state.now, cost);
    } else {
      algorithm.take(params, state.cells, state.at + offset, state.now, cost);
    }
  }
}

function give(state: State, cost: number, which: (algorithm: Algorithm) => boolean): void {
  for (const policy of state.policies) {
    if (!which(policy.algorithm)) continue;
    const row = rowOf(state, policy);
    if (row.length > 0) policy.algorithm.give(policy.params, row, startOf(state, policy), state.now, cost);
  }
}

/** The row in words. The policy that binds is the one that waits longest; when none waits, the one with least left. */
function describe(state: State, allowed: boolean, taken: number, cost: number): Decision {
  const { policies, now } = state;
  const states: PolicyState[] = [];
  let binding = policies[0] as PlacedPolicy;
  let worst = -1;
  let least = Infinity;
  let remaining = 0;
  let resetAfter = 0;
  for (const policy of policies) {
    const { algorithm, params, limit } = policy;
    const row = rowOf(state, policy);
    const start = startOf(state, policy);
    const free = algorithm.available(params, row, start, now);
    const left = Math.max(0, Math.floor(Math.min(free, limit)));
    const retryAfter = allowed ? 0 : algorithm.waitFor(params, row, start, now, cost);
    const clear = algorithm.clearIn(params, row, start, now);
    states.push({ name: policy.name, limit, window: policy.window, remaining: left, retryAfter, resetAfter: clear });
    if (retryAfter > worst || (retryAfter === worst && free < least)) {
      binding = policy;
      worst = retryAfter;
      least = free;
      remaining = left;
      resetAfter = clear;
    }
  }
  if (state.block > worst) {
    return {
      allowed,
      taken,
      limit: binding.limit,
      remaining: 0,
      retryAfter: state.block,
      resetAfter: Math.max(state.block, resetAfter),
      policy: 'block',
      policies: states,
      source: 'store',
    };
  }
  return {
    allowed,
    taken,
    limit: binding.limit,
    remaining,
    retryAfter: worst,
    resetAfter,
    policy: binding.name,
    policies: states,
    source: 'store',
  };
}
