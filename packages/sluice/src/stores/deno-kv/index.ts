/** Shares one limit between Deno processes, in Deno KV. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { type DenoKv, denoKv, type DenoKvAtomic, type DenoKvEntry, type DenoKvOptions } from './deno-kv.ts';
