/** Merges several decisions on one request into one. */
import type { Decision, PolicyState } from '../engine/contract.ts';

/** The result has the numbers of the limiting decision and the policies of all, each under a unique name. */
export function merged(decisions: readonly Decision[]): Decision {
  const [first] = decisions;
  if (decisions.length === 1) return first;
  const allowed = decisions.every((decision) => decision.allowed);
  const binding = decisions.reduce((a, b) => (isNearer(b, a) ? b : a));
  const policies: PolicyState[] = [];
  for (const state of decisions.flatMap((decision) => decision.policies)) {
    let name = state.name;
    for (let i = 2; policies.some((other) => other.name === name); i++) name = `${state.name}-${i}`;
    policies.push(name === state.name ? state : { ...state, name });
  }
  return { ...binding, allowed, policies };
}

function isNearer(a: Decision, b: Decision): boolean {
  if (a.allowed !== b.allowed) return b.allowed;
  return a.allowed ? a.remaining < b.remaining : a.retryAfter > b.retryAfter;
}
