/**
 * The entry `sluice/store`, for authors of stores, wrappers and algorithms. It exports the data that a limiter sends to a store,
 * the contract of algorithms, the engine that decides on hits, and a store on top of any compare-and-swap service.
 */
export type {
  ConcurrencyOptions,
  FixedWindowOptions,
  GcraOptions,
  LeakyBucketOptions,
  MinIntervalOptions,
  PacerOptions,
  PenaltyOptions,
  SlidingLogOptions,
  SlidingWindowOptions,
  TokenBucketOptions,
} from './algorithms/index.ts';
export type { AlgorithmEntry, RatedEntry, Rate, TextForm } from './algorithms/entry.ts';
export {
  type Algorithm,
  type AllTaker,
  type Answer,
  type Cells,
  type Clock,
  type Cost,
  type Hit,
  type Inheritance,
  isFarAhead,
  type Params,
  type PlacedPolicy,
  type Plan,
  type Refill,
  TIME_EPSILON,
  type VariableRows,
  type Verb,
  type WithStore,
} from './engine/contract.ts';
export { decide } from './engine/decide.ts';
export { clearIn } from './engine/row.ts';
export { declareDecision } from './engine/decision.ts';
export type { GivenClock } from './internal/clock.ts';
export { chain, isPromise } from './internal/maybe-promise.ts';
export type { ByPolicy } from './limiter/cost.ts';
export type { NamesIn } from './limiter/plans.ts';
export type { Inherit } from './policy/inherit.ts';
export {
  type CasFound,
  type CasOptions,
  type CasPut,
  type CasService,
  casStore,
  type CasValue,
} from './stores/cas/cas.ts';
export type { MemoryStore } from './stores/memory/memory.ts';
export type { Outcome } from './wrappers/metered.ts';
