/** A store for hono-rate-limiter over any store of Sluice: exact counts, one round trip a request. */
import type { SluiceStoreOptions } from './shared/hit-counter.ts';
import { type HitStore, hitStore } from './shared/hit-store.ts';

export type { SluiceStoreOptions } from './shared/hit-counter.ts';
export type { ClientHits, HitStore } from './shared/hit-store.ts';

/** One for each `rateLimiter()` or `webSocketLimiter()`. In a shared store, each with a prefix of its own. */
export function sluiceStore(options: SluiceStoreOptions = {}): HitStore {
  return hitStore(options, 'hono-rate-limiter');
}
