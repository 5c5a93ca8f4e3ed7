/** A store for express-rate-limit over any store of Sluice: exact counts, one round trip a request. */
import type { SluiceStoreOptions } from './shared/hit-counter.ts';
import { type HitStore, hitStore } from './shared/hit-store.ts';

export type { SluiceStoreOptions } from './shared/hit-counter.ts';
export type { ClientHits, HitStore } from './shared/hit-store.ts';

/** One for each `rateLimit()`. In a shared store, each with a prefix of its own. */
export function sluiceStore(options: SluiceStoreOptions = {}): HitStore {
  return hitStore(options, 'express-rate-limit');
}
