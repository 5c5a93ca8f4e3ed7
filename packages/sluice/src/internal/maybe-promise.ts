/** The same code for sync and async: continues synchronously with a value, and later with a promise. */
import type { MaybePromise } from '../engine/contract.ts';

export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function';
}

export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value);
}

export function all<T>(values: readonly MaybePromise<T>[]): MaybePromise<T[]> {
  return values.some(isPromise) ? Promise.all(values) : (values as T[]);
}

/** Runs a task in the background: no caller waits for it, and its failure is ignored. */
export function ignoreFailure(act: () => MaybePromise<unknown>): void {
  try {
    Promise.resolve(act()).catch(() => {});
  } catch {}
}
