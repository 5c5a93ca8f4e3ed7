/** The Postgres store as people use it: rows in a table, guarded. */
import { clockOf } from '../../clock.ts';
import type { Decision, Store } from '../../contract.ts';
import { known } from '../../options.ts';
import { GUARDED, guarded, type GuardedOptions } from '../cas/guarded.ts';
import { type PostgresClient, runnerOf } from './client.ts';
import { postgresRows } from './rows.ts';

export interface PostgresOptions extends GuardedOptions {
  /** What `migration` made, maybe with a schema; default 'sluice'. */
  readonly table?: string | undefined;
  /** Let a connection parse each statement once; default true. False for a pooler that cannot. */
  readonly prepare?: boolean | undefined;
}

/** A store on Postgres, over a client that you have already. It never closes the client. */
export function postgres(client: PostgresClient, options: PostgresOptions = {}): Store<Promise<Decision>> {
  const {
    table = 'sluice',
    prepare = true,
    ...rest
  } = known('postgres', options, [...GUARDED, 'table', 'prepare']);
  const clock = rest.clock === undefined ? undefined : clockOf('postgres.clock', rest.clock);
  return guarded(postgresRows(runnerOf(client, prepare), table, clock), rest);
}
