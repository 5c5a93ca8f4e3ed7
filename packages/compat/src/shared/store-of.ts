/** Where an old API keeps its state: in memory, in the Redis of a client it was given, or in a store of Sluice. */
import { type Decision, type MaybePromise, memory, type Store } from 'sluice';
import type { Clock } from 'sluice/store';
import { storeIn } from './options.ts';
import { redis, type RedisClient } from 'sluice/redis';

export interface StoreOptions {
  /** Any store of Sluice. It has a clock of its own, so `clock` says nothing then. */
  readonly store?: Store<MaybePromise<Decision>> | undefined;
  /** In place of the process's time, or of the Redis server's: for tests. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export function storeOf({ store, clock }: StoreOptions, client?: object): Store<MaybePromise<Decision>> {
  if (store !== undefined) return storeIn('options.store', store);
  if (client === undefined) return memory({ clock });
  // The APIs that are replaced report a Redis that fails, and callers are prepared for that.
  return redis(client as RedisClient, { clock, onFailure: 'throw' });
}
