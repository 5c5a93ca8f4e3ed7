/**
 * Creates all decisions: from the numbers in a row, from other decisions, or without a store. This way, all decisions have the
 * same members in the same order, and one rule determines the limiting policy.
 */
import {
  type Cost,
  type Decision,
  MANUAL_BLOCK,
  type Millis,
  type PlacedPolicy,
  type PolicyState,
  type Refill,
} from './contract.ts';

type Source = Decision['source'];

/** The numbers of the limiting policy that a decision shows. */
type LimitingNumbers = Pick<PolicyState, 'name' | 'limit' | 'remaining' | 'retryAfter' | 'resetAfter'>;

export function policyState(
  { name, limit, window }: Pick<PolicyState, 'name' | 'limit' | 'window'>,
  remaining: number,
  retryAfter: Millis,
  resetAfter: Millis,
  refill: Refill | undefined,
  taken: number,
): PolicyState {
  return { name, limit, window, remaining, retryAfter, resetAfter, taken, refill };
}

/**
 * Creates a decision whose limiting policy is known. It takes separate arguments, because every check calls this function, and
 * creating an object for each call would take time.
 */
export function makeDecision(
  { name, limit, remaining, retryAfter, resetAfter }: LimitingNumbers,
  policies: readonly PolicyState[],
  allowed: boolean,
  taken: number,
  source: Source,
  at: Millis | undefined,
): Decision {
  return { allowed, taken, limit, remaining, retryAfter, resetAfter, policy: name, policies, source, at };
}

/**
 * Compares two policies. The limiting policy is the one with the longest wait or, among equal waits, with the fewest remaining
 * units.
 */
function isMoreLimiting(
  a: Pick<LimitingNumbers, 'retryAfter' | 'remaining'>,
  b: Pick<LimitingNumbers, 'retryAfter' | 'remaining'>,
): boolean {
  return a.retryAfter > b.retryAfter || (a.retryAfter === b.retryAfter && a.remaining < b.remaining);
}

/**
 * The decision that follows from the states of all policies of a plan. `block` is the remaining duration of a manual block, or 0
 * if there is none. `at` is the instant of the charge, or undefined if nothing was charged.
 */
export function decisionOf(
  states: readonly PolicyState[],
  block: Millis,
  allowed: boolean,
  taken: number,
  at: Millis | undefined,
  source: Source = 'store',
): Decision {
  let limiting = states[0];
  for (const state of states) if (isMoreLimiting(state, limiting)) limiting = state;
  if (block <= limiting.retryAfter) return makeDecision(limiting, states, allowed, taken, source, at);
  const { limit, resetAfter } = limiting;
  const blocked = {
    name: MANUAL_BLOCK,
    limit,
    remaining: 0,
    retryAfter: block,
    resetAfter: Math.max(block, resetAfter),
  };
  return makeDecision(blocked, states, allowed, taken, source, at);
}

/**
 * The decision for a charge that waits for its turn. `retryAfter` is the delay until that turn, not the time until another charge
 * is allowed.
 */
export function bookedDecision(decision: Decision, delay: Millis): Decision {
  return { ...decision, retryAfter: delay };
}

/** Returns the decision for a place that is held until it is released. `at` is the instant that identifies the place. */
export function heldDecision(decision: Decision, at: Millis | undefined): Decision {
  const { allowed, taken, limit, remaining, retryAfter, resetAfter, policy, policies, source } = decision;
  // Lists the members, because an object that is spread and then gets another member takes microseconds to create.
  return {
    allowed,
    taken,
    limit,
    remaining,
    retryAfter,
    resetAfter,
    policy,
    policies,
    source,
    at,
    held: true,
  };
}

/** The decision for one of several hits that the store decided together. `cost` is what this hit was charged. */
export function partOfDecision(decision: Decision, cost: Cost): Decision {
  const policies = decision.policies.map((state, i) => {
    const part = typeof cost === 'number' ? cost : (cost[i] ?? 0);
    // A policy that was not charged at all, such as a penalty, was not charged for this hit either.
    return { ...state, taken: Math.min(part, state.taken) };
  });
  return { ...decision, taken: typeof cost === 'number' ? cost : Math.max(...cost), policies };
}

/** The decision for a hit whose charge was given back, because another hit was denied. */
export function unchargedDecision(decision: Decision): Decision {
  const { held: _, ...rest } = decision;
  return { ...partOfDecision(rest, 0), at: undefined };
}

/** The most limiting of these decisions. If any of them is a denial, only denials are compared. */
export function limitingDecision(decisions: readonly Decision[]): Decision {
  const denials = decisions.filter(({ allowed }) => !allowed);
  const compared = denials.length > 0 ? denials : decisions;
  return compared.reduce((a, b) => (isMoreLimiting(b, a) ? b : a));
}

/**
 * Merges several decisions on one request. The result is the limiting decision with the policies of all decisions, renamed where
 * names collide.
 */
export function mergeDecisions(decisions: readonly Decision[]): Decision {
  const [first] = decisions;
  if (decisions.length === 1) return first;
  const policies: PolicyState[] = [];
  for (const state of decisions.flatMap((decision) => decision.policies)) {
    let name = state.name;
    for (let i = 2; policies.some((other) => other.name === name); i++) name = `${state.name}-${i}`;
    policies.push(name === state.name ? state : { ...state, name });
  }
  return { ...limitingDecision(decisions), policies };
}

/** A denial based on the store's last answer, which is `age` old. `wait` is the time until the limiting policy allows the hit. */
export function cachedDenial(answer: Decision, age: Millis, wait: Millis): Decision {
  const left = (duration: Millis): Millis => Math.max(0, duration - age);
  return {
    ...answer,
    allowed: false,
    taken: 0,
    // The units that an allowed hit left were used up by later hits.
    remaining: answer.allowed ? 0 : answer.remaining,
    retryAfter: wait,
    resetAfter: Math.max(wait, left(answer.resetAfter)),
    policies: answer.policies.map((state) => {
      const isLimiting = state.name === answer.policy;
      return {
        ...state,
        taken: 0,
        remaining: answer.allowed && isLimiting ? 0 : state.remaining,
        retryAfter: isLimiting ? wait : left(state.retryAfter),
        resetAfter: Math.max(isLimiting ? wait : 0, left(state.resetAfter)),
        refill: typeof state.refill === 'number' ? left(state.refill) : state.refill,
      };
    }),
    source: 'deny-cache',
    at: undefined,
  };
}

/**
 * A decision that a node makes without the store, based on the store's last answer. `age` is the time since that answer. `units`
 * is the number of units that the node has in addition to those that remain in the store; it is negative if the node allowed
 * units that the store has not counted yet. `wait` is the time until the hit is allowed, or 0 if it is allowed now. `remaining`
 * is the number of remaining units to show, if it differs from the store's number plus `units`.
 */
export function localDecision(
  answer: Decision,
  allowed: boolean,
  taken: number,
  units: number,
  age: Millis,
  wait: Millis,
  remaining: number = unitsOf(answer.remaining + units, answer.limit),
): Decision {
  const { policies, limit, resetAfter, policy: name } = answer;
  // With leases, most decisions are made here, so this code avoids `map`, which is slower. The first policy is handled before the
  // loop, because most limiters have only one policy.
  const states = [localState(policies[0], units, age, wait, taken)];
  for (let i = 1; i < policies.length; i++) states.push(localState(policies[i], units, age, wait, taken));
  const limiting = {
    name,
    limit,
    remaining,
    retryAfter: wait,
    resetAfter: Math.max(wait, resetAfter - age),
  };
  return makeDecision(limiting, states, allowed, taken, 'lease', undefined);
}

function localState(
  state: PolicyState,
  units: number,
  age: Millis,
  wait: Millis,
  taken: number,
): PolicyState {
  const { limit, refill } = state;
  return policyState(
    state,
    unitsOf(state.remaining + units, limit),
    wait,
    Math.max(wait, state.resetAfter - age),
    // Units that only this node knows about do not change the time at which the store gets its next unit.
    refill === 'whole' ? refill : Math.max(wait, moreAfter(state) - age),
    taken,
  );
}

/**
 * The decision on a hit while the store is unavailable. If the hit is allowed, the decision shows the numbers of a new key.
 * Otherwise, it is a denial for the duration `retryAfter`.
 */
export function fallbackDecision(
  policies: readonly PlacedPolicy[],
  allowed: boolean,
  cost: Cost,
  retryAfter: Millis,
): Decision {
  const states = policies.map((policy, i) => {
    const taken = typeof cost === 'number' ? cost : cost[i];
    return policyState(policy, allowed ? policy.limit : 0, retryAfter, retryAfter, 'whole', taken);
  });
  const taken = typeof cost === 'number' ? cost : Math.max(...cost);
  return decisionOf(states, 0, allowed, taken, undefined, 'fallback');
}

/**
 * A decision that was not made by a policy. It allows without a limit, or denies for `retryAfter`. `reason` is shown as the
 * policy's name.
 */
export function declareDecision(
  reason: string,
  allowed: boolean,
  taken: number,
  retryAfter: Millis,
  source: Decision['source'] = 'store',
): Decision {
  const most = allowed ? Infinity : 0;
  const numbers = { name: reason, limit: most, remaining: most, retryAfter, resetAfter: retryAfter };
  return makeDecision(numbers, [], allowed, taken, source, undefined);
}

/** Rounds the available amount down to whole units, at least 0 and at most the limit. */
export function unitsOf(available: number, limit: number): number {
  return Math.floor(available < 0 ? 0 : available < limit ? available : limit);
}

/** Milliseconds until a policy has at least one unit more than `remaining`. `Infinity` if it is fully replenished. */
export function moreAfter({ limit, window, remaining, resetAfter, refill }: PolicyState): Millis {
  if (!(remaining + 1 <= limit)) return Infinity;
  if (typeof refill === 'number') return refill;
  return refill === 'even'
    ? Math.max(0, resetAfter - window + (window * (remaining + 1)) / limit)
    : resetAfter;
}
