/** The public Redis store. It wraps script calls so that a slow or failing server does not take its callers down. */
import type { Clock, Decision, Store } from '../../engine/contract.ts';
import { checkOptionNames } from '../../internal/options.ts';
import type { DenyCacheOptions } from '../../wrappers/deny-cache.ts';
import { guardedBy } from '../../wrappers/guarded-by.ts';
import type { ResilientOptions } from '../../wrappers/resilient/resilient.ts';
import { connectionOf, type RedisClient } from './client.ts';
import { redisStore } from './redis-store.ts';

export interface RedisOptions extends ResilientOptions {
  /** Whether to answer repeated denials from memory, for at most two seconds, without asking the server. Default false. */
  readonly denyCache?: boolean | DenyCacheOptions | undefined;
  /** A clock that replaces the server's time, for tests. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Creates a store on Redis or Valkey that uses your existing client. The store never closes the client. */
export function redis(client: RedisClient, options: RedisOptions = {}): Store<Promise<Decision>> {
  const { denyCache, clock, ...rest } = checkOptionNames('redis', options, [
    'deadline',
    'onFailure',
    'maxInFlight',
    'onEvent',
    'denyCache',
    'clock',
  ]);
  const connection = connectionOf(client);
  const store = redisStore(connection, clock);
  const hooks = { nodeOf: store.nodeOf, hasRequestTimers: connection.isStateless };
  return { ...guardedBy(store, rest, denyCache, hooks), backend: client };
}
