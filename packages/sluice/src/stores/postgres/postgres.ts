/**
 * The Postgres store. Rows are in a table. A deadline, a circuit breaker and a fallback protect callers from a slow or failing
 * server.
 */
import { clockOf } from '../../internal/clock.ts';
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { deadlineOf, GUARDED, guarded, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';
import { type PostgresClient, runnerOf } from './client.ts';
import { postgresRows } from './rows.ts';

/**
 * The default deadline of a check. It is long because a check may have to wait until the pool has opened a connection, or until a
 * query of the application has released one.
 */
const DEADLINE: Millis = 1000;

export interface PostgresOptions extends GuardedOptions {
  /** How long a check may take. Default one second. */
  readonly deadline?: Duration | undefined;
  /** The table that `migration` creates, optionally with a schema. Default 'sluice'. */
  readonly table?: string | undefined;
  /** Whether to use prepared statements. Default true. Set it to false behind a pooler that does not support them. */
  readonly prepare?: boolean | undefined;
}

/** Creates a store on Postgres that uses your client. The store never closes the client. */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): Store<Promise<Decision>> {
  const {
    table = 'sluice',
    prepare = true,
    ...rest
  } = checkOptionNames('postgres', options, [...GUARDED, 'table', 'prepare']);
  const clock = rest.clock === undefined ? undefined : clockOf('postgres.clock', rest.clock);
  const deadline = deadlineOf(rest, DEADLINE);
  const rows = postgresRows(runnerOf(client, prepare, deadline), table, clock);
  return { ...guarded(rows, { ...rest, deadline }), backend: backendOf(client, table) };
}
