/** The store of express-rate-limit, which hono-rate-limiter took over. */
import { type AnyLimiter, type Decision, type Millis, SluiceError } from 'sluice';
import { chain } from 'sluice/store';
import { countersOf, hitsOf, placeOf, type SluiceStoreOptions } from './hit-counter.ts';

/** `resetTime`: when the count starts anew. */
export interface ClientHits {
  /** In the current window. */
  totalHits: number;
  /** The end of the window. */
  resetTime: Date;
}

/** What the middleware calls. */
export interface HitStore {
  /** Called by the middleware with its options, before all else. */
  init(options: { readonly windowMs: Millis }): void;
  /** Counts nothing; `undefined`: no hit in the current window. */
  get(key: string): Promise<ClientHits | undefined>;
  /** Counts one hit. */
  increment(key: string): Promise<ClientHits>;
  /** Takes one hit back, never below 0. */
  decrement(key: string): Promise<void>;
  /** As if the key had never been seen. */
  resetKey(key: string): Promise<void>;
  /** Only of the default store: nobody can tell which keys of a shared one are whose. */
  readonly resetAll?: () => Promise<void>;
  /** Forgets the default store's counts; a store that was given is its owner's to close. */
  shutdown(): Promise<void>;
  /** Whether no other store can count the same keys. */
  readonly localKeys: boolean;
  /** What its keys begin with. */
  readonly prefix: string;
}

export function hitStore(options: SluiceStoreOptions, defaultPrefix: string): HitStore {
  const { store, prefix, now, release } = placeOf(options, defaultPrefix);
  const isOwn = options.store === undefined;
  const counterOf = countersOf(store, prefix);
  /** Of the window that `init` told. `null`: it has no length, so each hit is alone. */
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
    // A store that cannot be asked, and says 'allow', has counted nothing.
    return clientHits(Math.max(count, 1), endsIn);
  }

  /** The memory of Sluice is empty and usable after `close`. */
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
