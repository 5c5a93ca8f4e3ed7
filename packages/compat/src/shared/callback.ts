/** Returns results as promises, or passes them to a callback if the caller gives one. */
import type { MaybePromise } from 'sluice';
import { isPromise } from 'sluice/store';

/** A callback in Node's form: the first argument is the error, or `null`. */
export type Callback<T> = (error: Error | null, result?: T) => void;

/**
 * Calls the callback synchronously if the outcome is already available, and otherwise once it is available. An error that the
 * callback throws is uncaught, as in a timer. It never causes a rejection or a second call of the callback.
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
