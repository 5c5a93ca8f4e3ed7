/**
 * Tells observers what became of each hit. A store that answers at once still does: nothing is awaited, nothing is made
 * per hit, and the clock is not read, which would take as long as the check. What observers throw is nobody's.
 */
import type { Decision, Hit, MaybePromise, Millis, Store } from '../engine/contract.ts';
import { faultIn, SluiceError, type StoreFault } from '../internal/errors.ts';
import { isPromise } from '../internal/maybe-promise.ts';
import { storeIn } from '../internal/options.ts';

/**
 * Whether something passed. Undefined: nothing was asked to, as by a peek or a refund; or one who waits in `acquire` was
 * told to wait on.
 */
export type Outcome = 'allowed' | 'denied' | undefined;

/** `hit.plan.name` is the limiter's name. `took` is how long the store took; undefined: it answered at once. */
export interface Observer {
  /** The caller got a decision. */
  decided?(hit: Hit, decision: Decision, outcome: Outcome, took: Millis | undefined): void;
  /** The caller got an error in place of a decision. */
  failed?(hit: Hit, error: unknown, fault: StoreFault, took: Millis | undefined): void;
}

/** The same store, and what became of each hit is told. */
export function metered<R extends MaybePromise<Decision>>(
  store: Store<R>,
  ...observers: readonly Observer[]
): Store<R> {
  storeIn('metered.store', store);
  for (const observer of observers) {
    if (typeof observer?.decided !== 'function' && typeof observer?.failed !== 'function')
      throw new SluiceError(
        'ERR_OPTIONS',
        'metered',
        observer,
        '',
        'needs observers with decided() or failed()',
      );
  }

  function decided(hit: Hit, decision: Decision, took: Millis | undefined): void {
    const outcome = outcomeOf(hit, decision);
    for (let i = 0; i < observers.length; i++) {
      try {
        mute(observers[i].decided?.(hit, decision, outcome, took));
      } catch {}
    }
  }

  function failed(hit: Hit, error: unknown, took: Millis | undefined): void {
    const fault = faultIn(error);
    for (const observer of observers) {
      try {
        mute(observer.failed?.(hit, error, fault, took));
      } catch {}
    }
  }

  function apply(hit: Hit): MaybePromise<Decision> {
    let answer: MaybePromise<Decision>;
    try {
      answer = store.apply(hit);
    } catch (error) {
      failed(hit, error, undefined);
      throw error;
    }
    if (!isPromise(answer)) {
      decided(hit, answer, undefined);
      return answer;
    }
    const start = performance.now();
    return answer.then(
      (decision) => {
        decided(hit, decision, performance.now() - start);
        return decision;
      },
      (error: unknown) => {
        failed(hit, error, performance.now() - start);
        throw error;
      },
    );
  }

  return {
    clock: store.clock,
    ephemeral: store.ephemeral,
    accept: (plan) => store.accept?.(plan),
    backend: store.backend ?? store,
    apply: apply as (hit: Hit) => R,
    close: () => store.close(),
  };
}

/** An observer may be an async function, though nobody waits for it. */
function mute(result: unknown): void {
  if (isPromise(result)) result.catch(() => {});
}

function outcomeOf({ verb, cost, span }: Hit, { allowed, taken, retryAfter }: Decision): Outcome {
  if (verb === 'take') return allowed ? 'allowed' : 'denied';
  if (verb !== 'reserve') return undefined;
  // A booked turn in the future is allowed. Without a span it is `acquire` that asks, and asks again unless it is hopeless.
  if (allowed || taken === cost) return 'allowed';
  return span === 0 && retryAfter < Infinity ? undefined : 'denied';
}
