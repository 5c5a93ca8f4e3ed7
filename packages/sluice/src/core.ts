/**
 * `sluice/core`, the small limiter: every algorithm as a value, every store, the verbs that ask it once. What needs more code than many
 * pages want to load (policies as text, tiers, waiting, several keys at once) is in `sluice`.
 */
import type { Decision, MaybePromise, Policy, Store, WithStore } from './engine/contract.ts';
import { storeOf } from './limiter/default-store.ts';
import { SluiceError } from './internal/errors.ts';
import { keyOf, checkOptionNames } from './internal/options.ts';
import { isPolicy, place } from './policy/layout.ts';
import { type Verbs, verbsOf } from './limiter/verbs.ts';

export * from './algorithms/index.ts';
export type { GivenClock } from './internal/clock.ts';
export type {
  Algorithm,
  Answer,
  Cells,
  Clock,
  Decision,
  Hit,
  Inheritance,
  MaybePromise,
  Millis,
  Mode,
  Params,
  PlacedPolicy,
  Plan,
  Policy,
  PolicyState,
  Refill,
  Store,
  VariableRows,
  Verb,
  WithStore,
} from './engine/contract.ts';
export { type ErrorCode, SluiceError } from './internal/errors.ts';
export { memory, type MemoryOptions, type MemoryStore } from './stores/memory/memory.ts';
export type { CostOptions, GiveBackOptions, HeldOptions, TakeOptions, Verbs } from './limiter/verbs.ts';

/** A limiter without waiting, tiers and takeMany. */
export interface CoreLimiter<R extends MaybePromise<Decision> = Decision> extends Verbs<R> {
  /** Ends the store if it is the limiter's own. */
  close(): MaybePromise<void>;
}

/** What a limiter may be told beside its policies; `WithStore` adds its store. */
export interface CoreLimiterOptions {
  /**
   * Limiters with the same name share their keys in a store. Required for every store but `memory()`, where the default is
   * derived from the policies.
   */
  readonly name?: string | undefined;
}

/** A policy, or several by name. */
export type CorePolicies = Policy | { readonly [name: string]: Policy };

/** In memory: answers come at once. */
export function createLimiter(
  policies: CorePolicies,
  options?: CoreLimiterOptions & { readonly store?: undefined },
): CoreLimiter;
/** With a store, answers come as that store gives them: at once, or as promises. */
export function createLimiter<R extends MaybePromise<Decision>>(
  policies: CorePolicies,
  options: CoreLimiterOptions & WithStore<R>,
): CoreLimiter<R>;
export function createLimiter(
  policies: CorePolicies,
  options: CoreLimiterOptions & { readonly store?: Store | undefined } = {},
): CoreLimiter<MaybePromise<Decision>> {
  const { name, store: given } = checkOptionNames('createLimiter', options, ['name', 'store']);
  if (name !== undefined) keyOf(name, 'createLimiter.name');
  const store = storeOf(given, name);
  const plan = place(isPolicy(policies) ? { default: policies } : policies, name);
  store.accept?.(plan);
  const plans = {
    of(_key: string, tier: string | undefined) {
      if (tier === undefined) return plan;
      throw new SluiceError('ERR_TIER', 'tier', tier);
    },
    all: () => [plan],
  };
  return {
    ...verbsOf(store, plans, () => {}),
    close: () => (given === undefined ? store.close() : undefined),
  };
}
