/** Promises for those who await, callbacks for those who never did. */
import type { MaybePromise } from 'sluice';
import { isPromise } from 'sluice/store';

/** Node's form: the error first, `null` when there is none. */
export type Callback<T> = (error: Error | null, result?: T) => void;

/**
 * Calls back at once if the outcome is here, otherwise later. What a callback throws is thrown, as in any timer, and
 * never becomes a rejection or a second call.
 */
export function answer<T>(
  outcome: MaybePromise<T>,
  callback: Callback<T> | undefined,
): Promise<T> | undefined {
  if (callback === undefined) return Promise.resolve(outcome);
  if (isPromise(outcome))
    outcome.then(
      (result) => queueMicrotask(() => callback(null, result)),
      (error: Error) => queueMicrotask(() => callback(error)),
    );
  else callback(null, outcome);
  return undefined;
}
