/** The stores that every recording runs over: a line each. */
import { memory, type Store } from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** A store of its own for each scenario, on that scenario's clock. */
export type MakeStore = (clock: ManualClock) => Store;

export const STORES: Readonly<Record<string, MakeStore>> = {
  memory: (clock) => memory({ clock }),
};
