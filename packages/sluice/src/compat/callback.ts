/** Promises for those who await, callbacks for those who never did. */

/** Node's form: the error first, `null` when there is none. */
export type Callback<T> = (error: Error | null, result?: T) => void;

/** What a callback throws is thrown, as in any timer, and never becomes a rejection or a second call. */
export function answer<T>(outcome: Promise<T>, callback: Callback<T> | undefined): Promise<T> | undefined {
  if (callback === undefined) return outcome;
  outcome.then(
    (result) => queueMicrotask(() => callback(null, result)),
    (error: Error) => queueMicrotask(() => callback(error)),
  );
  return undefined;
}
