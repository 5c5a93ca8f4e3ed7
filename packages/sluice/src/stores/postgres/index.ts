/** Shares one limit between many processes, in your Postgres database. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export type { PostgresClient } from './client.ts';
export { postgres, type PostgresOptions } from './postgres.ts';
export { migration, type MigrationOptions } from './sql.ts';
