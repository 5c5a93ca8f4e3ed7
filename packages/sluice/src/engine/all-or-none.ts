/** Takes from several rows, so that all of them are charged or none, although each call to the store covers only one row. */
import type { Decision, Hit, MaybePromise } from './contract.ts';
import { unchargedDecision } from './decision.ts';
import { all, chain, ignoreFailure, isPromise } from '../internal/maybe-promise.ts';

/** One of the takes that are decided together. */
export interface Part {
  peek(): MaybePromise<Decision>;
  take(): MaybePromise<Decision>;
  /** Gives back what the decision charged. */
  refund(of: Decision): MaybePromise<unknown>;
}

/**
 * Peeks at all parts first and takes only if all would be allowed, so that a denial charges nothing. If anything else changes the
 * rows between the two steps, a take may be denied. In that case, the other takes are refunded.
 */
export function allOrNone(parts: readonly Part[]): MaybePromise<Decision[]> {
  const peeks = all(parts.map((part) => attempt(() => part.peek())));
  return chain(peeks, (attempts) => {
    const peeked = attempts.map(decisionOrThrow);
    const refused = peeked.findIndex(({ allowed }) => !allowed);
    if (refused < 0) return chain(all(parts.map((part) => attempt(() => part.take()))), settle);
    // Calls `take` on the part whose peek was denied, so that a penalty policy counts the denial.
    return chain(parts[refused].take(), (denied) => {
      if (denied.allowed) ignoreFailure(() => parts[refused].refund(denied));
      return peeked.with(refused, { ...unchargedDecision(denied), allowed: false });
    });
  });

  function settle(attempts: readonly Attempt[]): Decision[] {
    const passed = attempts.every(({ allowed }) => allowed);
    if (!passed)
      for (const [i, attempt] of attempts.entries())
        if (attempt.allowed && attempt.taken > 0) ignoreFailure(() => parts[i].refund(attempt));
    const decisions = attempts.map(decisionOrThrow);
    return passed ? decisions : decisions.map(unchargedDecision);
  }
}

/**
 * Decides on several takes by calling `apply` for each of them, so that all of them are charged or none. If `apply` is synchronous,
 * nothing else runs between the peeks and the takes, so the takes are decided atomically.
 */
export function allOrNoneOf(
  hits: readonly Hit[],
  apply: (hit: Hit) => MaybePromise<Decision>,
): MaybePromise<Decision[]> {
  return allOrNone(
    hits.map((hit) => ({
      peek: () => apply({ ...hit, verb: 'peek' }),
      take: () => apply(hit),
      refund: (of) => apply({ ...hit, verb: 'refund', of }),
    })),
  );
}

type Attempt = Decision | { readonly error: unknown; readonly allowed?: undefined };

/** Returns a failure as a value, so that it is thrown only after all other answers have arrived. */
function attempt(ask: () => MaybePromise<Decision>): MaybePromise<Attempt> {
  try {
    const decision = ask();
    return isPromise(decision) ? decision.catch((error: unknown) => ({ error })) : decision;
  } catch (error) {
    return { error };
  }
}

function decisionOrThrow(attempt: Attempt): Decision {
  if ('error' in attempt) throw attempt.error;
  return attempt;
}
