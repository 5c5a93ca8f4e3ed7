/** The main entry of Sluice: limiters, their policies, and the stores and wrappers that need no other process. */
export {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from './algorithms/index.ts';
export { algorithms } from './algorithms/registry.ts';
export type {
  Decision,
  MaybePromise,
  Millis,
  Mode,
  Policy,
  PolicyState,
  Store,
} from './engine/contract.ts';
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
export type {
  AcquireOptions,
  AnyLimiter,
  AsyncLimiter,
  CostOptions,
  GiveBackOptions,
  Limiter,
  LimiterOptions,
  ManyDecision,
  ManyItem,
  Reservation,
  ReserveOptions,
  RunOptions,
  SettleOptions,
  TakeOptions,
} from './limiter/api.ts';
export { createLimiter } from './limiter/limiter.ts';
export type { PolicySource } from './limiter/plans.ts';
export type { Policies } from './policy/named-policies.ts';
export { casStore } from './stores/cas/cas.ts';
export { memory, type MemoryOptions } from './stores/memory/memory.ts';
export { leased, type LeasedOptions } from './wrappers/leased/leased.ts';
export { metered, type Observer } from './wrappers/metered.ts';
export { synced, type SyncedOptions } from './wrappers/synced.ts';
