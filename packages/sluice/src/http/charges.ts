/**
 * What guards have charged a request. If several guards check the same request, a later one reports the charges of the
 * earlier ones in its headers, and refunds them if it denies the request.
 */
import type { Decision } from '../engine/contract.ts';
import { ignoreFailure } from '../internal/maybe-promise.ts';
import type { GuardLimiter } from './guard-options.ts';

/** What to take: an item for `takeMany`. */
export interface Charge {
  readonly limiter: GuardLimiter;
  readonly key: string;
  readonly cost: number;
  readonly tier: string | undefined;
}

/** A charge that the limiter has decided on. */
export interface Entry {
  readonly charge: Charge;
  /** The index of the limit within the guard's `limits`. */
  readonly index: number;
  readonly decision: Decision;
  /** Whether the charge has been neither settled nor refunded yet. */
  open: boolean;
}

/** What a guard that let the request pass has charged, and what the guards before it have. */
export interface Passed {
  /** The entries that headers report. In shadow mode: only those of earlier guards. */
  readonly told: readonly Entry[];
  readonly own: readonly Entry[];
  readonly before: Passed | undefined;
}

/** Stored on the request itself, because a WeakMap costs the garbage collector more than the whole check. */
export const PASSED: unique symbol = Symbol('sluice');

export interface Marked {
  [PASSED]?: Passed | undefined;
}

/** The entries of earlier guards that are still current, followed by a guard's own. */
export function withEarlier(before: Passed, own: readonly Entry[]): readonly Entry[] {
  return [...before.told.filter((old) => isCurrent(old, own)), ...own];
}

/** False if a later guard has charged the same limiter for the same key: then its decision is the current one. */
function isCurrent({ charge: old }: Entry, own: readonly Entry[]): boolean {
  return !own.some(
    ({ charge: { limiter, key, tier } }) => old.limiter === limiter && old.key === key && old.tier === tier,
  );
}

/** Refunds everything that earlier guards have charged this request, once. */
export function refundAll(identity: Marked): void {
  for (let passed = identity[PASSED]; passed !== undefined; passed = passed.before) {
    for (const entry of passed.own) {
      if (entry.open) refund(entry);
      entry.open = false;
    }
  }
  identity[PASSED] = undefined;
}

function refund({ charge: { limiter, key, cost, tier }, decision }: Entry): void {
  if (cost > 0) ignoreFailure(() => limiter.refund(key, { cost, tier, of: decision }));
}
