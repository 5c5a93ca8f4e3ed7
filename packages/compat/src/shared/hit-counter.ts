/** Counts hits for other projects' middleware, which compares the count with its own limit. */
import { inMillis } from './millis.ts';
import {
  type AnyLimiter,
  createLimiter,
  type Decision,
  fixedWindow,
  memory,
  type MemoryOptions,
  type Millis,
  type Policy,
  SluiceError,
  type Store,
} from 'sluice';
import { checkOptionNames, storeIn } from './options.ts';

/** Options of `sluiceStore`. */
export interface SluiceStoreOptions {
  /** A store of Sluice, such as `redis(client)`. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /**
   * The prefix of keys. Required if another `sluiceStore()` uses the same store or client, because otherwise the two would count
   * the same keys.
   */
  readonly prefix?: string | undefined;
  /** The clock of the default store and of reported times, for tests. Default: the system clock. */
  readonly clock?: MemoryOptions['clock'];
}

export interface Place {
  readonly store: Store;
  readonly prefix: string;
  /** The current time in epoch milliseconds. */
  readonly now: () => Millis;
  /** Allows another `sluiceStore()` to use the default prefix in this store. */
  readonly release: () => void;
}

/** The number of different window lengths that are used exactly as given. Further lengths are rounded. */
const EXACT_SPANS = 16;
/** A limit that no count reaches, and below which every count is exact in a float64. */
const UNREACHED = 2 ** 52;

const IN_USE = Symbol.for('sluice-compat.prefixes');
const host = globalThis as { [IN_USE]?: WeakMap<object, Set<string>> };
/** Default prefixes in use, by the backend that holds the keys. The map is global, because a process may load this module twice. */
const inUse = host[IN_USE] ?? new WeakMap<object, Set<string>>();
host[IN_USE] = inUse;

/** Throws if the prefix is in use, because two stores with the same prefix would count each other's hits. */
function claim(store: Store, prefix: string): () => void {
  const taken = inUse.get(store.backend ?? store) ?? new Set();
  inUse.set(store.backend ?? store, taken);
  if (taken.has(prefix))
    throw new SluiceError(
      'ERR_MISSING_OPTION',
      'sluiceStore.prefix',
      undefined,
      "such as prefix: 'login'",
      'is required for the second sluiceStore() on the same store or client, because otherwise both would count the same keys',
    );
  taken.add(prefix);
  return () => void taken.delete(prefix);
}

export function placeOf(options: SluiceStoreOptions, defaultPrefix: string): Place {
  checkOptionNames('sluiceStore', options, ['store', 'prefix', 'clock']);
  const { store, prefix = defaultPrefix, clock } = options;
  if (typeof prefix !== 'string' || prefix === '')
    throw new SluiceError('ERR_OPTIONS', 'sluiceStore.prefix', prefix, '', 'must be a non-empty string');
  if (store !== undefined) storeIn('sluiceStore.store', store);
  const release = store !== undefined && options.prefix === undefined ? claim(store, prefix) : () => {};
  return {
    store: store ?? memory({ clock }),
    prefix,
    now: () => clock?.now() ?? Date.now(),
    release,
  };
}

/**
 * Returns a function that gives the window length to use for a requested length. The first few lengths are used as given. Further
 * lengths are rounded up by at most an eighth, so that requests with many different lengths create at most a few hundred
 * limiters.
 */
export function roundedSpans(): (span: Millis) => Millis {
  const exact = new Set<Millis>();
  return (span) => {
    if (exact.has(span) || !Number.isFinite(span)) return span;
    if (exact.size < EXACT_SPANS) {
      exact.add(span);
      return span;
    }
    const step = 2 ** (Math.floor(Math.log2(span)) - 3);
    return Math.ceil(span / step) * step;
  };
}

/** A policy that never denies, and that counts hits in windows that open with a key's first hit. */
export function counting(span: Millis): Policy {
  return fixedWindow({ limit: UNREACHED, per: inMillis(span), align: 'first' });
}

/** Returns a function that gives the counting limiter for a window length. */
export function countersOf(store: Store, name: string): (span: Millis) => AnyLimiter {
  const rounded = roundedSpans();
  const made = new Map<Millis, AnyLimiter>();
  return (given) => {
    const span = rounded(given);
    const ready = made.get(span);
    if (ready !== undefined) return ready;
    const limiter = createLimiter(counting(span), { store, name });
    made.set(span, limiter);
    return limiter;
  };
}

export interface Hits {
  readonly count: number;
  /** Milliseconds until the window of the count, or a manual block, ends. */
  readonly endsIn: Millis;
  readonly isBlocked: boolean;
}

/**
 * The count in a decision. A denial without a manual block comes from an unavailable store, and is reported as a count above
 * every limit.
 */
export function hitsOf({ allowed, policy, limit, remaining, resetAfter, retryAfter }: Decision): Hits {
  if (allowed) return { count: limit - remaining, endsIn: resetAfter, isBlocked: false };
  return { count: Number.MAX_SAFE_INTEGER, endsIn: retryAfter, isBlocked: policy === 'block' };
}
