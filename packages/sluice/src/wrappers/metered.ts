/**
 * Reports the result of each hit to observers. A synchronous store stays synchronous and fast, because nothing is awaited or
 * allocated per hit. The clock is not read either, because reading it would take as long as the check itself. Errors of observers
 * are ignored.
 */
import type { AllTaker, Decision, Hit, MaybePromise, Millis, Store } from '../engine/contract.ts';
import { faultIn, SluiceError, type StoreFault } from '../internal/errors.ts';
import { isPromise } from '../internal/maybe-promise.ts';
import { storeIn } from '../internal/options.ts';
import { passedOn } from './shared/passed-on.ts';

/**
 * Whether the hit was allowed. Undefined for a hit that does not ask for permission, such as a peek or a refund, and for a hit of
 * `acquire` that has to keep waiting.
 */
export type Outcome = 'allowed' | 'denied' | undefined;

/**
 * Receives the result of each hit. `hit.plan.name` is the limiter's name. `took` is how long the store took, or undefined if it
 * answered synchronously.
 */
export interface Observer {
  /** Called when the caller gets a decision. */
  decided?(hit: Hit, decision: Decision, outcome: Outcome, took: Millis | undefined): void;
  /** Called when the caller gets an error instead of a decision. */
  failed?(hit: Hit, error: unknown, fault: StoreFault, took: Millis | undefined): void;
}

/** Wraps a store so that observers receive the result of each hit. */
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
        'must be given observers with decided() or failed()',
      );
  }

  function decided(hit: Hit, decision: Decision, took: Millis | undefined): void {
    const outcome = outcomeOf(hit, decision);
    for (let i = 0; i < observers.length; i++) {
      try {
        ignoreRejection(observers[i].decided?.(hit, decision, outcome, took));
      } catch {}
    }
  }

  function failed(hit: Hit, error: unknown, took: Millis | undefined): void {
    const fault = faultIn(error);
    for (const observer of observers) {
      try {
        ignoreRejection(observer.failed?.(hit, error, fault, took));
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

  /**
   * Reports hits that were decided in one step. If one of them is denied, the others are reported as peeks, because nothing was
   * charged.
   */
  function allDecided(hits: readonly Hit[], decisions: readonly Decision[], took: Millis | undefined): void {
    const denied = decisions.findIndex(({ allowed }) => !allowed);
    for (const [i, decision] of decisions.entries()) {
      const isTaken = denied < 0 || i === denied;
      decided(isTaken ? hits[i] : { ...hits[i], verb: 'peek' }, decision, took);
    }
  }

  function allFailed(hits: readonly Hit[], error: unknown, took: Millis | undefined): never {
    for (const hit of hits) failed(hit, error, took);
    throw error;
  }

  function allTaker(this: Store<R>, hits: readonly Hit[]): AllTaker | undefined {
    // If a wrapper copied this object and replaced `apply`, the hits are decided one by one, so that the wrapper sees each of them.
    const takeAll = this.apply === apply ? store.allTaker?.(hits) : undefined;
    if (takeAll === undefined) return undefined;
    return () => {
      const start = performance.now();
      try {
        const answer = takeAll();
        if (!isPromise(answer)) {
          allDecided(hits, answer ?? [], undefined);
          return answer;
        }
        return answer.then(
          (decisions) => {
            allDecided(hits, decisions ?? [], performance.now() - start);
            return decisions;
          },
          (error: unknown) => allFailed(hits, error, performance.now() - start),
        );
      } catch (error) {
        return allFailed(hits, error, undefined);
      }
    };
  }

  return {
    ...passedOn(store),
    accept: (plan) => store.accept?.(plan),
    apply: apply as (hit: Hit) => R,
    allTaker,
    close: () => store.close(),
  };
}

/** Ignores the rejection of an observer that is an async function. Nothing waits for observers. */
function ignoreRejection(result: unknown): void {
  if (isPromise(result)) result.catch(() => {});
}

function outcomeOf({ verb, span }: Hit, { allowed, taken, retryAfter }: Decision): Outcome {
  if (verb === 'take') return allowed ? 'allowed' : 'denied';
  if (verb !== 'reserve') return undefined;
  // A reservation in the future counts as allowed. A hit of `acquire` that may pass later is neither allowed nor denied, because
  // `acquire` tries again.
  if (allowed || taken > 0) return 'allowed';
  return span === 0 && retryAfter < Infinity ? undefined : 'denied';
}
