/** Implements every verb once, for all algorithms. The current time is an argument, and the store owns the row. */
import {
  charge,
  costAt,
  delayOf,
  fitting,
  give,
  isChargedCosts,
  isChargedDenials,
  isExempt,
  isHolding,
  isSettled,
  neededFor,
  type Policies,
  takenOf,
  waitFor,
} from './charge.ts';
import {
  type Cells,
  type Cost,
  type Decision,
  type Hit,
  type Inheritance,
  isPlain,
  type Millis,
  type PlacedPolicy,
  type Plan,
  type PolicyState,
  SKEW,
  type VariableRows,
  type Verb,
} from './contract.ts';
import { bookedDecision, decisionOf, heldDecision, makeDecision, policyState, unitsOf } from './decision.ts';
import { SluiceError } from '../internal/errors.ts';
import { rowOf, startOf } from './row.ts';

/**
 * Applies a hit to the key's row, which starts at offset `at` of the cells. `blockedUntil` is the end of a manual block. The
 * store itself must save the end of a block, and drop the row on 'reset'.
 */
export function decide(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  rows: VariableRows,
): Decision {
  if (isInFuture(hit, now)) throw futureInstant(hit.of?.at);
  if (hit.plan.inherit === undefined) return decideOnRow(hit, cells, at, now, blockedUntil, rows);
  return decideInheriting(hit.plan.inherit, hit, cells, at, now, blockedUntil, rows);
}

/** Whether the instant that a caller passed as `at` is in the future. Up to `SKEW` is tolerated, because clocks may differ. */
export function isInFuture({ of }: Hit, now: Millis): boolean {
  return of?.isGiven === true && of.at !== undefined && of.at > now + SKEW;
}

/** The error for an instant `at` that is in the future. */
export function futureInstant(at: Millis | undefined): SluiceError {
  return new SluiceError('ERR_INSTANT', 'at', at, 'this instant is in the future');
}

/** Converts the row to this plan's limits and decides. If the hit changes the row, signs the row with the plan's numbers. */
function decideInheriting(
  inherit: Inheritance,
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  rows: VariableRows,
): Decision {
  // A hit that does not write must not convert the row either, so the conversion is made on a copy.
  const converted = inherit.convert(hit.plan, cells, at, now);
  const row = converted ?? cells;
  const start = converted === undefined ? at : 0;
  const isIdle = isOnlyGivingBack(hit) && isFresh(hit.plan, row, start);
  const decision = decideOnRow(hit, row, start, now, blockedUntil, rows);
  if (isIdle || !writes(hit, decision, blockedUntil > now)) return decision;
  inherit.sign(hit, row, start, now, decision);
  if (converted !== undefined) cells.set(converted, at);
  return decision;
}

/** Whether a hit with this outcome changes the row. */
function writes({ verb, plan, mode }: Hit, { taken, allowed }: Decision, isBlocked: boolean): boolean {
  if (verb === 'peek' || verb === 'reset') return false;
  if (verb !== 'take' && verb !== 'reserve') return true;
  // In mode 'always', some policies may be charged more than others. `taken` is the smallest charge, so it can be 0 even though a
  // policy was charged.
  if (taken > 0 || mode === 'always') return true;
  return verb === 'take' && !allowed && !isBlocked && plan.policies.some(isChargedDenials);
}

/** Whether the hit gives something back and charges nothing, so that it leaves a fresh row fresh. */
function isOnlyGivingBack({ verb, cost, plan }: Hit): boolean {
  if (verb === 'settle') return plan.policies.every((_, i) => !(costAt(cost, i) > 0));
  return verb === 'refund' || verb === 'release';
}

function decideOnRow(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  blockedUntil: Millis,
  rows: VariableRows,
): Decision {
  const { verb, cost, plan } = hit;
  const { policies } = plan;
  const block = blockedUntil > now ? blockedUntil - now : 0;
  if (verb === 'take') return take(hit, cells, at, now, block, rows);
  if (verb === 'reserve') return reserve(hit, cells, at, now, block, rows);
  // A fresh row has nothing to give back. It must stay fresh, because with a timestamp in the row, the key could be denied after
  // the clock goes back.
  if (GIVES_BACK.has(verb) && !isFresh(plan, cells, at)) {
    const isGiven = verb === 'refund' ? undefined : verb === 'settle' ? isSettled : isHolding;
    give(policies, cells, at, now, rows, verb === 'settle' ? negated(cost) : cost, isGiven, hit.of?.at);
  }
  if (verb === 'renew' && policies.some(isHolding)) {
    const fits = block === 0 && waitFor(policies, cells, at, now, rows, cost, isHolding) === 0;
    // The holder keeps running whether or not a place is available, so its place must be counted.
    const parts = charge(policies, cells, at, now, rows, cost, isHolding);
    return describe(policies, cells, at, now, rows, block, fits, Math.max(...parts), parts, cost);
  }
  // Units that were used without having been charged are charged now, even if that overdraws the row.
  const parts = verb === 'settle' ? charge(policies, cells, at, now, rows, cost, isSettled) : [0];
  const asked = askedFor(hit);
  const passes = block === 0 && waitFor(policies, cells, at, now, rows, asked) === 0;
  const taken = Math.max(...parts);
  return describe(policies, cells, at, now, rows, block, passes, taken, taken > 0 ? parts : 0, asked);
}

const GIVES_BACK: ReadonlySet<Verb> = new Set(['refund', 'settle', 'release', 'renew']);

function negated(cost: Cost): Cost {
  return typeof cost === 'number' ? -cost : cost.map((units) => -units);
}

/** The cost that a decision's `retryAfter` refers to. */
export function askedFor({ verb, mode, cost, keep }: Hit): Cost {
  if (verb === 'take' && mode === 'partial' && typeof cost === 'number')
    return neededFor(Math.min(cost, 1), keep);
  if (verb === 'take' || verb === 'reserve' || verb === 'peek') return neededFor(cost, keep);
  return verb === 'renew' ? cost : 1;
}

function take(hit: Hit, cells: Cells, at: number, now: Millis, block: Millis, rows: VariableRows): Decision {
  const { cost, mode, keep } = hit;
  const { policies } = hit.plan;
  if (isPlain(hit) && mode === 'whole' && policies.length === 1 && block === 0 && !policies[0].grows)
    return takeOne(policies[0], cells, at, now, hit.cost);
  const isPartial = mode === 'partial' && typeof cost === 'number';
  const part = isPartial ? fitting(policies, cells, at, now, rows, cost, keep) : cost;
  const fits = isPartial ? part !== 0 : waitFor(policies, cells, at, now, rows, neededFor(cost, keep)) === 0;
  const passes = fits && block === 0;
  const isCharged = passes || mode === 'always';
  const span = fits ? Infinity : hit.span;
  const parts = isCharged ? charge(policies, cells, at, now, rows, part, isChargedCosts, span) : 0;
  if (!fits && block === 0) charge(policies, cells, at, now, rows, 1, isChargedDenials);
  const taken = parts === 0 ? 0 : takenOf(policies, part, parts);
  return describe(policies, cells, at, now, rows, block, passes, taken, parts, askedFor(hit));
}

function reserve(
  hit: Hit,
  cells: Cells,
  at: number,
  now: Millis,
  block: Millis,
  rows: VariableRows,
): Decision {
  const { cost } = hit;
  const { policies } = hit.plan;
  const needed = neededFor(cost, hit.keep);
  const delay = block === 0 ? delayOf(policies, cells, at, now, rows, needed) : Infinity;
  if (!(delay < Infinity && delay <= hit.span))
    return describe(policies, cells, at, now, rows, block, delay === 0, 0, 0, needed);
  const parts = charge(policies, cells, at, now, rows, cost, isChargedCosts);
  const taken = takenOf(policies, cost, parts);
  const decision = describe(policies, cells, at, now, rows, block, delay === 0, taken, parts, needed);
  return bookedDecision(decision, delay);
}

/** Whether the row consists of zeros. */
function isFresh(plan: Plan, cells: Cells, at: number): boolean {
  for (let i = at; i < at + plan.width; i++) if (cells[i] !== 0) return false;
  return true;
}

/** Decides the most frequent check, a take from one policy in mode 'whole', in a third less time than the general path. */
function takeOne(policy: PlacedPolicy, cells: Cells, at: number, now: Millis, cost: number): Decision {
  const { algorithm, params, limit, offset } = policy;
  const start = at + offset;
  const retryAfter = algorithm.waitFor(params, cells, start, now, cost);
  const allowed = retryAfter === 0;
  if (allowed) algorithm.take(params, cells, start, now, cost);
  const remaining = unitsOf(algorithm.available(params, cells, start, now), limit);
  const resetAfter = algorithm.clearIn(params, cells, start, now);
  const refill = policy.refill ?? refillOf(policy, cells, start, now, remaining);
  const taken = allowed ? cost : 0;
  const state = policyState(policy, remaining, retryAfter, resetAfter, refill, taken);
  return makeDecision(state, [state], allowed, taken, 'store', allowed ? now : undefined);
}

/**
 * Creates the decision on a hit from the numbers in the row after the hit. `taken` is its `Decision.taken`, `parts` is what each
 * policy was charged, and `asked` is the cost that its `retryAfter` refers to.
 */
export function describe(
  policies: Policies,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  block: Millis,
  allowed: boolean,
  taken: number,
  parts: Cost,
  asked: Cost,
): Decision {
  const states = policies.map((policy, i) => {
    const wait = allowed || isExempt(asked, i) ? undefined : costAt(asked, i);
    return stateOf(policy, cells, at, now, rows, wait, isChargedCosts(policy) ? costAt(parts, i) : 0);
  });
  const decision = decisionOf(states, block, allowed, taken, taken > 0 ? now : undefined);
  const holding = policies.findIndex(isHolding);
  if (holding < 0 || !(costAt(parts, holding) > 0)) return decision;
  const policy = policies[holding];
  const row = rowOf(policy, cells, at, rows);
  return heldDecision(decision, policy.algorithm.hold?.takenAt(policy.params, row, startOf(policy, at)));
}

/** The numbers of a policy. `asked` is the cost that `retryAfter` refers to, or undefined if there is nothing to wait for. */
function stateOf(
  policy: PlacedPolicy,
  cells: Cells,
  at: number,
  now: Millis,
  rows: VariableRows,
  asked: number | undefined,
  taken: number,
): PolicyState {
  const { algorithm, params, limit } = policy;
  const row = rowOf(policy, cells, at, rows);
  const start = startOf(policy, at);
  const remaining = unitsOf(algorithm.available(params, row, start, now), limit);
  return policyState(
    policy,
    remaining,
    asked === undefined ? 0 : algorithm.waitFor(params, row, start, now, asked),
    algorithm.clearIn(params, row, start, now),
    policy.refill ?? refillOf(policy, row, start, now, remaining),
    taken,
  );
}

/** How long until one more unit is available. Infinity if the whole limit is available, even for algorithms that allow any cost. */
export function refillOf(
  { algorithm, params, limit }: PlacedPolicy,
  row: Cells,
  start: number,
  now: Millis,
  remaining: number,
): Millis {
  return hasMore(remaining, limit) ? algorithm.waitFor(params, row, start, now, remaining + 1) : Infinity;
}

/** Whether more units than `remaining` can ever be available. */
export function hasMore(remaining: number, limit: number): boolean {
  return remaining + 1 <= limit && remaining < Infinity;
}
