/** Every store, from the sources of the library. */
import { type MakeStore, storesOf } from 'sluice-test-support/stores.ts';
import { type Decision, memory, type Store } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';

export type { MakeStore } from 'sluice-test-support/stores.ts';

export const STORES: Readonly<Record<string, MakeStore>> = storesOf({ memory, sharedMemory, ipc, redis });

/**
 * Returns another store object for the same keys, like the store of another process. Limiters on it do not know the limiters on
 * the first one.
 */
export function another<R extends Decision | Promise<Decision>>(store: Store<R>): Store<R> {
  return { ...store, backend: undefined, apply: (hit) => store.apply(hit), close() {} };
}
