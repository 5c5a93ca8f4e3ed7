/** What only limiters on a server have: a client that may not be ready, and keys refused without asking it. */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  memory,
  type Millis,
  type Store,
  StoreUnavailable,
} from '../../index.ts';
import { EVER } from './points.ts';
import type { StoreOptions } from '../shared/store-of.ts';

/** Keys that this process refuses by itself. */
export interface LocalBlocks {
  /** 0: ask the store. */
  left(key: string): Millis;
  /** Called with each answer of the store; for how long it blocks the key. */
  note(key: string, consumed: number, left: Millis): Millis;
  forget(key: string): void;
  forgetAll(): void;
}

/** Fails at once while the client is not connected. */
export function onlyWhenReady(
  store: Store<MaybePromise<Decision>>,
  client: { readonly status?: unknown; readonly isReady?: unknown },
): Store<MaybePromise<Decision>> {
  /** ioredis and iovalkey have a word for it, node-redis a flag. */
  const isReady = (): boolean =>
    client.status === undefined ? client.isReady !== false : client.status === 'ready';
  return {
    ...store,
    apply: (hit) => (isReady() ? store.apply(hit) : Promise.reject(new StoreUnavailable('connection'))),
  };
}

/** Blocks by hand of a limiter in memory: no timers, and no more keys than it keeps. */
export function localBlocks(from: number, length: Millis, clock: StoreOptions['clock']): LocalBlocks {
  const fresh = (): Limiter => createLimiter('1/s', { store: memory({ clock, maxKeys: MAX_LOCAL_BLOCKS }) });
  let limiter = fresh();
  return {
    left: (key) => limiter.peek(key, 0).retryAfter,
    note(key, consumed, left) {
      const span = length > 0 ? length : Math.min(left, EVER);
      if (consumed < from || span === 0) return 0;
      limiter.block(key, span);
      return span;
    },
    forget: (key) => void limiter.reset(key),
    forgetAll() {
      limiter = fresh();
    },
  };
}

const MAX_LOCAL_BLOCKS = 100_000;
