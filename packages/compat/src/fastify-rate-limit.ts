/**
 * A store for @fastify/rate-limit on any store of Sluice, with exact counts and one round trip per request.
 *
 * With `continueExceeding` or `exponentialBackoff`, each request made while the client is limited restarts the wait. The wait is a
 * manual block, and these requests are counted in a separate row that outlives the window. Only limited requests need more than one
 * round trip.
 */
import type { AnyLimiter, MaybePromise, Millis, Store } from 'sluice';
import { chain } from 'sluice/store';
import { answer, type Callback } from './shared/callback.ts';
import { countersOf, type Hits, hitsOf, placeOf, type SluiceStoreOptions } from './shared/hit-counter.ts';

export type { Callback } from './shared/callback.ts';
export type { SluiceStoreOptions } from './shared/hit-counter.ts';

/** The number of a client's hits, and when this number resets. */
export interface RouteHits {
  /** Hits in the current window. */
  current: number;
  /** Milliseconds until `current` starts again from 0. */
  ttl: Millis;
}

/** The store that the plugin calls. */
export interface RouteStore {
  /** Counts one hit of a key. */
  incr(key: string | number, callback: Callback<RouteHits>, timeWindow: Millis, max: number): void;
  /** Reports the hits of a key without counting a hit. */
  read(key: string | number, callback: Callback<RouteHits>, timeWindow: Millis, max: number): void;
  /** Creates the store of a route. Routes with the same `groupId` share their counts. */
  child(routeOptions: object): RouteStore;
}

/** The class that the plugin instantiates with its options. */
export type SluiceStoreClass = new (options?: object) => RouteStore;

/** The options of the plugin, or of a route, that the store reads. */
interface Params {
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly groupId?: string;
  readonly routeInfo?: {
    readonly method?: string | readonly string[];
    readonly url?: string;
    readonly constraints?: object;
  };
}

/**
 * Requests that a client makes while it is limited are counted separately. That separate count is kept for this duration, starting
 * with the first such request.
 */
const MEMORY: Millis = 30 * 24 * 60 * 60 * 1000;

/**
 * Creates the class for the plugin's `store` option. Each registration of the plugin counts in its own memory, unless the options
 * contain a `store`.
 */
export function sluiceStore(options: SluiceStoreOptions = {}): SluiceStoreClass {
  const { store: shared, prefix } = placeOf(options, 'fastify-rate-limit');
  // A function that returns an object may be called with `new`.
  return function SluiceStore(params: Params = {}) {
    const store = options.store === undefined ? placeOf(options, prefix).store : shared;
    return routeStore(store, prefix, params);
  } as unknown as SluiceStoreClass;
}

function routeStore(store: Store, name: string, params: Params): RouteStore {
  const counterOf = countersOf(store, name);
  const returns = countersOf(store, `${name} returns`)(MEMORY);
  const renews = params.continueExceeding === true || params.exponentialBackoff === true;
  let children = 0;

  /** Counts one hit. With the memory store, the result is synchronous, as in the plugin's own store. */
  function incr(key: string, span: Millis, max: number): MaybePromise<RouteHits> {
    if (span <= 0) return { current: 1, ttl: 0 };
    const counter = counterOf(span);
    return chain(counter.take(key), (decision): MaybePromise<RouteHits> => {
      const hits = hitsOf(decision);
      if (renews && decision.source !== 'fallback' && (hits.isBlocked || hits.count > max))
        return renewed(counter, key, span, max, hits);
      return { current: Math.max(hits.count, 1), ttl: Math.ceil(hits.endsIn) };
    });
  }

  async function renewed(
    counter: AnyLimiter,
    key: string,
    span: Millis,
    max: number,
    { count, endsIn, isBlocked }: Hits,
  ): Promise<RouteHits> {
    // Until the key is blocked, `nth` is computed from the window's count, so that it is different for each concurrent request.
    const nth = isBlocked ? hitsOf(await returns.take(key)).count : count - max;
    const newWait = params.continueExceeding === true ? span : span * 2 ** (nth - 1);
    const wait = Math.min(isBlocked ? Math.max(newWait, endsIn) : newWait, Number.MAX_SAFE_INTEGER);
    const noted = isBlocked ? [] : [returns.reset(key), returns.take(key, nth)];
    await Promise.all([...noted, counter.block(key, wait)]);
    return { current: max + nth, ttl: Math.ceil(wait) };
  }

  async function read(key: string, span: Millis, max: number): Promise<RouteHits> {
    if (span <= 0) return { current: 0, ttl: 0 };
    const { count, endsIn, isBlocked } = hitsOf(await counterOf(span).peek(key));
    const current = isBlocked ? max + Math.max(hitsOf(await returns.peek(key)).count, 1) : count;
    return { current, ttl: Math.ceil(endsIn) };
  }

  function scopeOf({ groupId, routeInfo: { method, url, constraints } = {} }: Params): string {
    if (groupId) return `group ${groupId}`;
    // Stores that `createRateLimit(options)` creates have no route, so they are numbered in the order of creation.
    if (url === undefined) return `#${++children}`;
    return `${String(method)} ${url}${constraints === undefined ? '' : ` ${JSON.stringify(constraints)}`}`;
  }

  return {
    incr: (key, callback, timeWindow, max) => void answer(incr(String(key), timeWindow, max), callback),
    read: (key, callback, timeWindow, max) => void answer(read(String(key), timeWindow, max), callback),
    child: (routeOptions: Params) => routeStore(store, `${name} ${scopeOf(routeOptions)}`, routeOptions),
  };
}
