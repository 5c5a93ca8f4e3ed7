/** A store for express-rate-limit on any store of Sluice, with exact counts and one round trip per request. */
import type { SluiceStoreOptions } from './shared/hit-counter.ts';
import { type HitStore, hitStore } from './shared/hit-store.ts';

export type { SluiceStoreOptions } from './shared/hit-counter.ts';
export type { ClientHits, HitStore } from './shared/hit-store.ts';

/** Creates a store for one `rateLimit()`. If several `rateLimit()` calls use the same Sluice store, each needs its own prefix. */
export function sluiceStore(options: SluiceStoreOptions = {}): HitStore {
  return hitStore(options, 'express-rate-limit');
}
