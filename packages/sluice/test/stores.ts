/** Every store, a line each. */
import type { Decision, MaybePromise, Store } from '../src/index.ts';
import { memory } from '../src/index.ts';
import type { ManualClock } from '../src/testing/index.ts';

export const STORES: Readonly<
  Record<string, (clock: ManualClock) => MaybePromise<Store<Decision> | Store<Promise<Decision>>>>
> = {
  memory: (clock) => memory({ clock }),
};
