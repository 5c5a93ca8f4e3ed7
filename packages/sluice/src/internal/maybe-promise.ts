/** Helpers for code that works with and without promises. Such code continues synchronously unless a value is a promise. */
import type { MaybePromise } from '../engine/contract.ts';

/** Whether the value is a promise, or any other object with a `then` method. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

/** Calls `next` with the value. If the value is a promise, `next` is called when it resolves; otherwise, synchronously. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}

/** The values as a list, or a promise of the list if any of them is a promise. */
export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  return values.some(isPromise) ? Promise.all(values) : (values as T[]);
}

/** Runs a side task that no caller waits for, and ignores its errors. */
export function ignoreFailure(act: () => MaybePromise<unknown>): void {
  try {
    Promise.resolve(act()).catch(() => {});
  } catch {}
}
