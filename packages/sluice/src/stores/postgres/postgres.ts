/** The Postgres store as people use it: rows in a table, guarded. */
import { clockOf } from '../../internal/clock.ts';
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { deadlineOf, GUARDED, guarded, type GuardedOptions } from '../cas/guarded.ts';
import { type PostgresClient, runnerOf } from './client.ts';
import { postgresRows } from './rows.ts';

/**
 * How long a check may take unless told otherwise: a pool opens connections when they are needed, and shares them with
 * the application's own queries.
 */
const DEADLINE: Millis = 1000;

export interface PostgresOptions extends GuardedOptions {
  /** How long a check may take; default one second. */
  readonly deadline?: Duration | undefined;
  /** The table that `migration` creates, optionally with a schema; default 'sluice'. */
  readonly table?: string | undefined;
  /** Let each connection parse a statement only once; default true. Use false behind a pooler that cannot do that. */
  readonly prepare?: boolean | undefined;
}

/** A store on Postgres, over a client that you have already. It never closes the client. */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): Store<Promise<Decision>> {
  const {
    table = 'sluice',
    prepare = true,
    ...rest
  } = checkOptionNames('postgres', options, [...GUARDED, 'table', 'prepare']);
  const clock = rest.clock === undefined ? undefined : clockOf('postgres.clock', rest.clock);
  const deadline = deadlineOf(rest, DEADLINE);
  const rows = postgresRows(runnerOf(client, prepare, deadline), table, clock);
  return { ...guarded(rows, { ...rest, deadline }), backend: tableOf(client, table) };
}

const tables = new WeakMap<object, Map<string, object>>();

/** Stands for a table of a database: two stores on one client share their keys only if they have the same table. */
function tableOf(client: object, table: string): object {
  const known = tables.get(client) ?? new Map<string, object>();
  tables.set(client, known);
  const backend = known.get(table) ?? {};
  known.set(table, backend);
  return backend;
}
