import type { Decision, MaybePromise, Store } from '../../engine/contract.ts';

/** The properties of a store that every wrapper passes on. */
export function passedOn<R extends MaybePromise<Decision>>(
  store: Store<R>,
): Pick<Store<R>, 'clock' | 'ephemeral' | 'backend'> {
  return { clock: store.clock, ephemeral: store.ephemeral, backend: store.backend ?? store };
}
