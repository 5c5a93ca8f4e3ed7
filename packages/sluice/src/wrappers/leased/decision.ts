/** The decision that a node makes by itself: the last answer of the store, updated by what is known here. */
import { type Decision, type Millis, moreAfter, type PolicyState } from '../../engine/contract.ts';

/** `units`: those in hand here. `age`: time since the store was asked. `wait`: 0 if allowed. */
export function leaseDecision(
  answer: Decision,
  allowed: boolean,
  taken: number,
  units: number,
  age: Millis,
  wait: Millis,
): Decision {
  const { policies, limit, remaining, resetAfter, policy } = answer;
  // Most decisions are made here, and most limiters have one policy: this avoids a closure for it.
  const states = [updated(policies[0], units, age, wait)];
  for (let i = 1; i < policies.length; i++) states.push(updated(policies[i], units, age, wait));
  return {
    allowed,
    taken,
    limit,
    remaining: allowed ? Math.floor(Math.min(limit, remaining + units)) : 0,
    retryAfter: wait,
    resetAfter: Math.max(wait, resetAfter - age),
    policy,
    policies: states,
    source: 'lease',
  };
}

function updated(state: PolicyState, units: number, age: Millis, wait: Millis): PolicyState {
  const { name, limit, window, refill } = state;
  return {
    name,
    limit,
    window,
    remaining: Math.floor(Math.min(limit, state.remaining + units)),
    retryAfter: wait,
    resetAfter: Math.max(wait, state.resetAfter - age),
    // Units in hand here do not change when the store replenishes its next one.
    refill: refill === 'whole' ? refill : Math.max(wait, moreAfter(state) - age),
  };
}
