/** Shares one limit between all processes on a machine, in a SQLite database. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export type { SqliteDatabase } from './client.ts';
export { sqlite, type SqliteOptions } from './sqlite.ts';
