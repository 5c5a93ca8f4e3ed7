/** The store's last answer, brought up to date: what a node says when it decides by itself. */
import { type Decision, type Millis, moreAfter, type PolicyState } from '../../engine/contract.ts';

/** `held`: units in hand here. `passed`: since the store was asked. `wait`: 0 when allowed. */
export function leaseDecision(
  answer: Decision,
  allowed: boolean,
  taken: number,
  held: number,
  passed: Millis,
  wait: Millis,
): Decision {
  const { policies, limit, remaining, resetAfter, policy } = answer;
  // Most limiters have one policy, and most decisions are made here: no loop and no closure for it.
  const states = [later(policies[0], held, passed, wait)];
  for (let i = 1; i < policies.length; i++) states.push(later(policies[i], held, passed, wait));
  return {
    allowed,
    taken,
    limit,
    remaining: allowed ? Math.floor(Math.min(limit, remaining + held)) : 0,
    retryAfter: wait,
    resetAfter: Math.max(wait, resetAfter - passed),
    policy,
    policies: states,
    source: 'lease',
  };
}

/** A policy's numbers as they are now, as far as this node knows. */
function later(state: PolicyState, held: number, passed: Millis, wait: Millis): PolicyState {
  const { name, limit, window, refill } = state;
  return {
    name,
    limit,
    window,
    remaining: Math.floor(Math.min(limit, state.remaining + held)),
    retryAfter: wait,
    resetAfter: Math.max(wait, state.resetAfter - passed),
    // Units in hand here do not bring the store's next one nearer.
    refill: refill === 'whole' ? refill : Math.max(wait, moreAfter(state) - passed),
  };
}
