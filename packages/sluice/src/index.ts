/** Sluice: every classic rate limit, one answer everywhere. */
export * from './algorithms/index.ts';
export { algorithms } from './algorithms/registry.ts';
export type { AlgorithmEntry, Rate, TextForm } from './algorithms/entry.ts';
export type { GivenClock } from './internal/clock.ts';
export type {
  Algorithm,
  Answer,
  Cells,
  Clock,
  Decision,
  Hit,
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
  Verb,
  WithStore,
} from './engine/contract.ts';
export { declareDecision } from './engine/decision.ts';
export { type Duration, parseDuration } from './internal/duration.ts';
export {
  ClosedError,
  DeniedError,
  ERRORS,
  type ErrorCode,
  SluiceError,
  StoreError,
  type StoreFault,
  StoreUnavailable,
} from './internal/errors.ts';
export type { Inherit } from './policy/inherit.ts';
export {
  type AcquireOptions,
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type ReserveOptions,
} from './limiter/limiter.ts';
export type { ManyDecision, ManyItem, Taker, TakerOptions } from './limiter/take-many.ts';
export type { Policies } from './policy/named-policies.ts';
export type { PolicySource } from './limiter/plans.ts';
export {
  type CasFound,
  type CasOptions,
  type CasPut,
  type CasService,
  casStore,
  type CasValue,
} from './stores/cas/cas.ts';
export { memory, type MemoryOptions, type MemoryStore } from './stores/memory/memory.ts';
export type { CostOptions, GiveBackOptions, HeldOptions, TakeOptions, Verbs } from './limiter/verbs.ts';
export { leased, type LeasedOptions } from './wrappers/leased/leased.ts';
export { metered, type Observer, type Outcome } from './wrappers/metered.ts';
export { synced, type SyncedOptions } from './wrappers/synced.ts';
