/**
 * Records what guards have charged for a request. If several guards check the same request, a later guard reports the charges of
 * the earlier guards in its headers, and refunds them if it denies the request.
 */
import type { Decision } from '../engine/contract.ts';
import { ignoreFailure } from '../internal/maybe-promise.ts';
import { VERSION } from '../internal/version.ts';
import type { ByPolicy, GiveBackOptions } from '../limiter/api.ts';
import type { GuardLimiter } from './guard-options.ts';

/** A charge to make, which can be passed to `takeMany`. */
export interface Charge {
  readonly limiter: GuardLimiter;
  readonly key: string;
  readonly cost: ByPolicy;
  readonly tier: string | undefined;
  readonly class: string | undefined;
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

/** The charges of a guard that let the request pass, and the charges of the guards before it. */
export interface Passed {
  /** The entries that the headers report. In shadow mode, these are only the entries of earlier guards. */
  readonly told: readonly Entry[];
  readonly own: readonly Entry[];
  readonly before: Passed | undefined;
}

/**
 * The property in which a request keeps its guards' charges. A WeakMap is not used, because it would cost the garbage collector
 * more time than the whole check takes.
 */
export const PASSED: unique symbol = Symbol.for(`sluice ${VERSION} passed`);

export interface Marked {
  [PASSED]?: Passed | undefined;
}

/** The entries of earlier guards that are still current, followed by the guard's own entries. */
export function withEarlier(before: Passed, own: readonly Entry[]): readonly Entry[] {
  return [...before.told.filter((old) => isCurrent(old, own)), ...own];
}

/** False if a later guard has charged the same limiter for the same key, because the later decision is then the current one. */
function isCurrent({ charge: old }: Entry, own: readonly Entry[]): boolean {
  return !own.some(
    ({ charge: { limiter, key, tier } }) => old.limiter === limiter && old.key === key && old.tier === tier,
  );
}

/** Refunds everything that earlier guards have charged for this request. Each charge is refunded only once. */
export function refundAll(identity: Marked): void {
  for (let passed = identity[PASSED]; passed !== undefined; passed = passed.before) {
    for (const entry of passed.own) {
      if (entry.open) refund(entry);
      entry.open = false;
    }
  }
  identity[PASSED] = undefined;
}

function refund(entry: Entry): void {
  const { limiter, key, cost } = entry.charge;
  if (cost !== 0) ignoreFailure(() => limiter.refund(key, givenBack(entry.charge, entry.decision)));
}

/**
 * The options for giving back exactly this charge. A cost by policy is left out, so that each policy gets back all that it was
 * charged.
 */
export function givenBack(
  { cost, tier }: { readonly cost: ByPolicy; readonly tier?: string | undefined },
  of: Decision,
): GiveBackOptions & { of: Decision } {
  return typeof cost === 'number' ? { cost, tier, of } : { tier, of };
}
