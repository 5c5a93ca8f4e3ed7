/** Counts of hits, for the middlewares of others: they ask for a number and compare it with a limit of their own. */
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

export interface SluiceStoreOptions {
  /** Any store of Sluice, such as `redis(client)`; default: the memory of this process. */
  readonly store?: Store | undefined;
  /** What keys begin with. Required for the second of several that share a store or a client: they would count together. */
  readonly prefix?: string | undefined;
  /** For the default store, and for instants that are announced; default: the system's. For tests. */
  readonly clock?: MemoryOptions['clock'];
}

export interface Place {
  readonly store: Store;
  readonly prefix: string;
  /** Epoch milliseconds. */
  readonly now: () => Millis;
  /** Lets another use the default prefix in this store. */
  readonly release: () => void;
}

/** In memory, so many sets of numbers share the rows of a name. */
const EXACT_SPANS = 16;
/** Higher than anybody counts, and exact in a float64 up to the last unit. */
const UNREACHED = 2 ** 52;

/** Default prefixes in use, by what the keys live in. */
const inUse = new WeakMap<object, Set<string>>();

/** Two with the same prefix would count each other's hits, and nobody would be told. */
function claim(store: Store, prefix: string): () => void {
  const taken = inUse.get(store.backend ?? store) ?? new Set();
  inUse.set(store.backend ?? store, taken);
  if (taken.has(prefix))
    throw new SluiceError(
      'ERR_MISSING_OPTION',
      'sluiceStore.prefix',
      undefined,
      "such as prefix: 'login'",
      'is required for the second sluiceStore() over one store or client: without it, both count the same keys',
    );
  taken.add(prefix);
  return () => void taken.delete(prefix);
}

export function placeOf(options: SluiceStoreOptions, defaultPrefix: string): Place {
  checkOptionNames('sluiceStore', options, ['store', 'prefix', 'clock']);
  const { store, prefix = defaultPrefix, clock } = options;
  if (typeof prefix !== 'string' || prefix === '')
    throw new SluiceError('ERR_OPTIONS', 'sluiceStore.prefix', prefix, 'some text');
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
 * A span as it is used. The first few lengths are taken as they are. Who makes up a new one for each request gets the
 * others longer by an eighth at most, so that there are never more than a few hundred.
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

/** Counts in windows that open with a key's first hit. They never deny. */
export function counting(span: Millis): Policy {
  return fixedWindow({ limit: UNREACHED, per: inMillis(span), align: 'first' });
}

/** A limiter that counts, by the length of its window. */
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
  /** Until the count, or a block, ends. */
  readonly endsIn: Millis;
  readonly isBlocked: boolean;
}

/** What was counted. A denial that is no block comes from a store that cannot be asked: it is above every limit. */
export function hitsOf({ allowed, policy, limit, remaining, resetAfter, retryAfter }: Decision): Hits {
  if (allowed) return { count: limit - remaining, endsIn: resetAfter, isBlocked: false };
  return { count: Number.MAX_SAFE_INTEGER, endsIn: retryAfter, isBlocked: policy === 'block' };
}
