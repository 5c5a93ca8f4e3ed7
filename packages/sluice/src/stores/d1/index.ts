/** Shares one limit between all Workers that use the same Cloudflare D1 database. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export { d1, type D1Database, type D1Options } from './d1.ts';
export { migration, type MigrationOptions } from './migration.ts';
