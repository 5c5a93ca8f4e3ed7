/** The SQLite store: one limit for all processes on a machine, in a file that outlives them. */
import type { Decision, Store } from '../../engine/contract.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { serviceStore } from '../cas/cas.ts';
import { GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';
import { checkDatabase, runnerOf, type SqliteDatabase } from './client.ts';
import { sqliteService } from './service.ts';

export interface SqliteOptions extends GuardedOptions {
  /** The table that the store creates and uses. Default 'sluice'. */
  readonly table?: string | undefined;
}

/** Creates a store on a SQLite database. The store creates its table when it is first used, and never closes the database. */
export function sqlite(database: SqliteDatabase, options: SqliteOptions = {}): Store<Promise<Decision>> {
  const { table = 'sluice', ...rest } = checkOptionNames('sqlite', options, [...GUARDED, 'table']);
  checkDatabase(database);
  const service = sqliteService(runnerOf(database, table));
  return serviceStore('sqlite', service, rest, backendOf(database, table));
}
