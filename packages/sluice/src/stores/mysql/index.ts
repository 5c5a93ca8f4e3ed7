/** Shares one limit between several machines, in a MySQL or MariaDB database. */
export type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
export type {
  BreakerEvent,
  OnFailure,
  ResilientOptions,
  Substitute,
} from '../../wrappers/resilient/resilient.ts';
export type { MysqlClient } from './client.ts';
export { mysql, type MysqlOptions } from './mysql.ts';
export { migration, type MigrationOptions } from './sql.ts';
