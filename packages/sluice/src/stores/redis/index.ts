/** One limit for many processes, on Redis or Valkey. */
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient.ts';
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type { CommandClient, RedisClient } from './client.ts';
export { redis, type RedisOptions } from './redis.ts';
