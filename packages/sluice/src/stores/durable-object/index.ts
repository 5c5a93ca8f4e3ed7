/** Shares one limit between Cloudflare Workers, in Durable Objects. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { durableObject, type DurableObjectOptions } from './durable-object.ts';
export { type DurableObjectNamespace, SluiceObject } from './object.ts';
export type { DurableObjectStorage, DurableObjectTransaction } from './storage.ts';
