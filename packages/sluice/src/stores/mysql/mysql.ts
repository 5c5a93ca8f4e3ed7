/** The store on MySQL and MariaDB. */
import type { Decision, Millis, Store } from '../../engine/contract.ts';
import type { Duration } from '../../internal/duration.ts';
import { checkOptionNames } from '../../internal/options.ts';
import { serviceStore } from '../cas/cas.ts';
import { deadlineOf, GUARDED, type GuardedOptions } from '../cas/guarded.ts';
import { backendOf } from '../cas/table.ts';
import { connectionsOf, type MysqlClient } from './client.ts';
import { mysqlService } from './service.ts';

export interface MysqlOptions extends GuardedOptions {
  /** How long a check may take. Default one second. */
  readonly deadline?: Duration | undefined;
  /** The table that `migration` creates, optionally with a database. Default 'sluice'. */
  readonly table?: string | undefined;
}

/**
 * The default deadline of a check. It is long because a check may have to wait until the pool has opened a connection, or until a
 * query of the application has released one.
 */
const DEADLINE: Millis = 1000;

/** Creates a store on MySQL or MariaDB that uses your client. The store never closes the client. */
export function mysql(client: MysqlClient, options: MysqlOptions = {}): Store<Promise<Decision>> {
  const { table = 'sluice', ...rest } = checkOptionNames('mysql', options, [...GUARDED, 'table']);
  const service = mysqlService(connectionsOf(client), table);
  const deadline = deadlineOf(rest, DEADLINE);
  return serviceStore('mysql', service, { ...rest, deadline }, backendOf(client, table));
}
