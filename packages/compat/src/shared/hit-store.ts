/** The store interface of express-rate-limit, which hono-rate-limiter also uses. */
import { type AnyLimiter, type Decision, type Millis, SluiceError } from 'sluice';
import { chain } from 'sluice/store';
import { countersOf, hitsOf, placeOf, type SluiceStoreOptions } from './hit-counter.ts';

/** The number of a client's hits, and when this number resets. */
export interface ClientHits {
  /** Hits in the current window. */
  totalHits: number;
  /** The end of the window, when the count starts again from 0. */
  resetTime: Date;
}

/** The store that the middleware calls. */
export interface HitStore {
  /** The middleware calls this with its options before any other method. */
  init(options: { readonly windowMs: Millis }): void;
  /** Resolves with the hits of the key, or with `undefined` if there are none in the current window. Counts nothing. */
  get(key: string): Promise<ClientHits | undefined>;
  /** Counts one hit of the key. */
  increment(key: string): Promise<ClientHits>;
  /** Subtracts one hit of the key, down to 0. */
  decrement(key: string): Promise<void>;
  /** Clears the hits of the key. */
  resetKey(key: string): Promise<void>;
  /** Clears all keys. Only available for the default store. */
  readonly resetAll?: () => Promise<void>;
  /** Clears the default store. A store that was passed in the options stays open. */
  shutdown(): Promise<void>;
  /** Whether the keys are private to this store. */
  readonly localKeys: boolean;
  /** The prefix of this store's keys. */
  readonly prefix: string;
}

export function hitStore(options: SluiceStoreOptions, defaultPrefix: string): HitStore {
  const { store, prefix, now, release } = placeOf(options, defaultPrefix);
  const isOwn = options.store === undefined;
  const counterOf = countersOf(store, prefix);
  /**
   * The counter for the window that `init` received. `null` if the length of the window is 0, in which case every hit is the
   * first of its window.
   */
  let known: AnyLimiter | null | undefined;

  function counter(): AnyLimiter | null {
    if (known === undefined)
      throw new SluiceError('ERR_MISSING_OPTION', 'windowMs', undefined, 'init() was not called');
    return known;
  }

  function clientHits(totalHits: number, endsIn: Millis): ClientHits {
    return { totalHits, resetTime: new Date(Math.ceil(now() + endsIn)) };
  }

  function counted(decision: Decision): ClientHits {
    const { count, endsIn } = hitsOf(decision);
    // With onFailure 'allow', an unavailable store has counted nothing, so the hit is reported as the first one.
    return clientHits(Math.max(count, 1), endsIn);
  }

  /** Clears all counts. `close` empties the memory store, which remains usable. */
  async function forgetAll(): Promise<void> {
    await store.close();
  }

  return {
    init({ windowMs }) {
      known = windowMs <= 0 ? null : counterOf(windowMs);
    },
    async get(key) {
      const limiter = counter();
      if (limiter === null) return undefined;
      const { count, endsIn } = hitsOf(await limiter.peek(key));
      return count === 0 ? undefined : clientHits(count, endsIn);
    },
    async increment(key) {
      const limiter = counter();
      if (limiter === null) return clientHits(1, 0);
      return chain(limiter.take(key), counted);
    },
    async decrement(key) {
      await counter()?.refund(key);
    },
    async resetKey(key) {
      await counter()?.reset(key);
    },
    ...(isOwn && { resetAll: forgetAll }),
    async shutdown() {
      release();
      if (isOwn) await forgetAll();
    },
    localKeys: isOwn,
    prefix,
  };
}
