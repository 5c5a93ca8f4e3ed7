/** All stores, imported from the built library. */
import { memory } from 'sluice';
import { ipc } from 'sluice/ipc';
import { redis } from 'sluice/redis';
import { sharedMemory } from 'sluice/shared-memory';
import { type MakeStore, storesOf } from 'sluice-test-support/stores.ts';

export type { MakeStore } from 'sluice-test-support/stores.ts';

export const STORES: Readonly<Record<string, MakeStore>> = storesOf({ memory, sharedMemory, ipc, redis });
