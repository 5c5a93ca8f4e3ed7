/** Chooses where a drop-in keeps its state: in memory, in the Redis of a given client, or in a store of Sluice. */
import { type Decision, type MaybePromise, memory, type Store } from 'sluice';
import type { Clock } from 'sluice/store';
import { storeIn } from './options.ts';
import { redis, type RedisClient } from 'sluice/redis';

/** Options that choose the store. */
export interface StoreOptions {
  /** A store of Sluice. It has its own clock, so `clock` is ignored. */
  readonly store?: Store<MaybePromise<Decision>> | undefined;
  /** The clock, for tests. Default: the clock of the process, or of the Redis server. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

export function storeOf({ store, clock }: StoreOptions, client?: object): Store<MaybePromise<Decision>> {
  if (store !== undefined) return storeIn('options.store', store);
  if (client === undefined) return memory({ clock });
  // The original APIs reject when Redis fails, and their callers handle the rejection.
  return redis(client as RedisClient, { clock, onFailure: 'throw' });
}
