/** Sync and async in one line of code: continue at once when the value is here, later when it is a promise. */
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

/** For what is done on the side: nobody waits for it, and its failure is nobody's. */
export function ignoreFailure(act: () => MaybePromise<unknown>): void {
  try {
    Promise.resolve(act()).catch(() => {});
  } catch {}
}
