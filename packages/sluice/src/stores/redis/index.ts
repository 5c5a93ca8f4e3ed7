/** Shares one limit between many processes, on Redis or Valkey. */
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type { RedisClient } from './client.ts';
export type { CommandClient } from './connections.ts';
export { redis, type RedisOptions } from './redis.ts';
