/** Implements redis-cell's CL.THROTTLE, whose GCRA limit is given in each call instead of in the configuration. */
import type { Decision, MaybePromise, Store } from 'sluice';
import { type ClThrottle, createClThrottle } from 'sluice-compat/redis-cell';
import { isPromise } from './maybe-promise.ts';

export type { ClThrottle, ClThrottleReply } from 'sluice-compat/redis-cell';

/**
 * Creates the CL.THROTTLE function on a store. `judge` receives the decision of every take, and returns the decision to report to
 * the caller.
 */
export function openCell(
  store: Store,
  judge: (key: string, decision: Decision) => Decision,
): ClThrottle<MaybePromise<Decision>> {
  const judging: Store = {
    clock: store.clock,
    apply(hit) {
      const decision = store.apply(hit);
      if (hit.verb !== 'take') return decision;
      return isPromise(decision) ? decision.then((made) => judge(hit.key, made)) : judge(hit.key, decision);
    },
    close: () => undefined,
  };
  return createClThrottle({ store: judging });
}
