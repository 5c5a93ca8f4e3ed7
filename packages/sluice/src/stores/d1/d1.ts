/** The store on D1, the SQL database of Cloudflare Workers. */
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { SluiceError, StoreUnavailable } from '../../internal/errors.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { serviceStore } from '../cas/cas.ts';
import { deadlineOf, GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';
import { sqliteService } from '../sqlite/service.ts';
import { statementsFor } from '../sqlite/sql.ts';
import { migration } from './migration.ts';

/** The binding of a D1 database, such as `env.DB`, or a D1 session. */
export interface D1Database {
  /** Prepares a statement. */
  prepare(sql: string): {
    bind(...values: (string | number)[]): { all(): Promise<{ readonly results: readonly unknown[] }> };
  };
}

export interface D1Options extends GuardedOptions {
  /** How long a check may take. Default one second, because the database may be on another continent. */
  readonly deadline?: Duration | undefined;
  /** The table that `migration` creates. Default 'sluice'. */
  readonly table?: string | undefined;
}

const DEADLINE: Millis = 1000;

/** Creates a store on a D1 database. Add the SQL that `migration` returns to the migrations of the database. */
export function d1(database: D1Database, options: D1Options = {}): Store<Promise<Decision>> {
  const { table = 'sluice', ...rest } = checkOptionNames('d1', options, [...GUARDED, 'table']);
  checkDatabase(database);
  const statements = statementsFor(table);
  const service = sqliteService(async (name, parameter) => {
    try {
      return (await database.prepare(statements[name]).bind(parameter).all()).results;
    } catch (error) {
      throw explained(error, table);
    }
  });
  const deadline = deadlineOf(rest, DEADLINE);
  return serviceStore('d1', service, { ...rest, deadline }, backendOf(database, table), true);
}

function checkDatabase(given: unknown): void {
  const has = (name: string): boolean => typeof (given as Record<string, unknown>)?.[name] === 'function';
  // A synchronous SQLite database has `exec` but not `batch`, so it is rejected. A D1 database has `batch`, and a D1 session has no
  // `exec`.
  if (has('prepare') && (has('batch') || !has('exec'))) return;
  const words = has('prepare')
    ? "is not a database of Cloudflare; for node:sqlite, better-sqlite3 or bun:sqlite, use sqlite(database) from 'sluice/sqlite'"
    : 'must be the binding of a D1 database, such as env.DB';
  throw new SluiceError('ERR_OPTIONS', 'd1.database', given, '', words);
}

function explained(error: unknown, table: string): unknown {
  const words = String((error as Error | undefined)?.message ?? error);
  if (words.includes('no such table'))
    return new SluiceError('ERR_TABLE', 'd1.table', table, `create it with\n${migration({ table })}`);
  if (/overloaded|too many requests/i.test(words)) return new StoreUnavailable('overloaded', error);
  return /network connection|internal error|reset because/i.test(words)
    ? new StoreUnavailable('connection', error)
    : error;
}
