/** Shares one limit between several machines, on Memcached. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export type { MemcachedClient } from './client.ts';
export { memcached, type MemcachedOptions } from './memcached.ts';
