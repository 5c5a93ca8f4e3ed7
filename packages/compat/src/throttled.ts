/**
 * A drop-in for throttled's GCRA rate limiter, with its quotas, results and headers, in memory or on any store. Durations are in
 * milliseconds where the original uses Go's `Duration`.
 */
import { type Decision, type MaybePromise, memory, type Millis, SluiceError, type Store } from 'sluice';
import { type Answer, chain, type Clock, type WithStore } from 'sluice/store';
import { checkOptionNames, notNegative, positive, whole } from './shared/options.ts';
import { cellCounter, nanos } from './shared/cells.ts';

/** A rate of `count` requests per `period`, evenly spaced. */
export interface Rate {
  /** The number of requests per period. */
  readonly count: number;
  /** The period in milliseconds. */
  readonly period: Millis;
}

/** A rate of `count` requests per second. */
export const perSec = (count: number): Rate => ({ count, period: 1000 });
/** A rate of `count` requests per minute. */
export const perMin = (count: number): Rate => ({ count, period: 60_000 });
/** A rate of `count` requests per hour. */
export const perHour = (count: number): Rate => ({ count, period: 3_600_000 });
/** A rate of `count` requests per day. */
export const perDay = (count: number): Rate => ({ count, period: 86_400_000 });
/** A rate of `count` requests per `period` milliseconds. */
export const perDuration = (count: number, period: Millis): Rate => ({ count, period });

/** A rate and a burst. The rate may be named `rate` or, as in Go, `maxRate`. */
export type RateQuota = ({ readonly rate: Rate } | { readonly maxRate: Rate }) & {
  /** How many requests may exceed the rate in one burst. With 0, requests must be evenly spaced. */
  readonly maxBurst: number;
};

/** The result of a request. */
export interface RateLimitResult {
  /** Whether the request is denied. */
  readonly limited: boolean;
  /** The largest burst, which is `maxBurst` + 1. */
  readonly limit: number;
  /** How many more requests would pass now. */
  readonly remaining: number;
  /** Milliseconds until the key is fully replenished. */
  readonly resetAfter: Millis;
  /** Milliseconds until the request would pass. −1 if it was not limited, or if it can never pass. */
  readonly retryAfter: Millis;
}

/** A drop-in for throttled's `GCRARateLimiter`, with its `rateLimit` method. */
export interface GcraRateLimiter<R extends MaybePromise<Decision> = Decision> {
  /** Charges `quantity` units (default 1) if the limit allows them. A quantity of 0 charges nothing. */
  rateLimit(key: string, quantity?: number): Answer<R, RateLimitResult>;
}

/** Options of `createGcraRateLimiter`. */
export interface GcraRateLimiterOptions {
  /** The rate and the burst. */
  readonly quota: RateQuota;
  /**
   * Separates the keys of this limiter from those of other limiters in the store. Limiters with the same prefix share keys.
   * Default 'throttled'.
   */
  readonly prefix?: string | undefined;
  /** The maximum number of keys that the default store keeps. Default: the same as for `memory()`. Not allowed with `store`. */
  readonly maxKeys?: number | undefined;
  /** The clock of the default store. A store that you pass uses its own clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** Creates a limiter. In memory it returns results synchronously; on a store it returns promises if the store does. */
export function createGcraRateLimiter(
  options: GcraRateLimiterOptions & { readonly store?: undefined },
): GcraRateLimiter;
export function createGcraRateLimiter<R extends MaybePromise<Decision>>(
  options: GcraRateLimiterOptions & WithStore<R>,
): GcraRateLimiter<R>;
export function createGcraRateLimiter(
  options: GcraRateLimiterOptions & { readonly store?: Store | undefined },
): GcraRateLimiter<MaybePromise<Decision>> {
  checkOptionNames('createGcraRateLimiter', options, ['quota', 'prefix', 'maxKeys', 'store', 'clock']);
  const { quota, prefix = 'throttled', maxKeys, store, clock } = options;
  if (store !== undefined && maxKeys !== undefined)
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxKeys', maxKeys, 'allowed only without a store');
  const { interval, limit } = parse(quota);
  const count = cellCounter<MaybePromise<Decision>>(store ?? memory({ clock, maxKeys }), prefix);

  return {
    rateLimit: (key, quantity = 1) =>
      chain(count(key, interval, limit, quantity), ({ allowed, remaining, resetAfter, retryAfter }) => {
        const limited = !allowed && quantity >= 0;
        const never = retryAfter === Infinity;
        return { limited, limit, remaining, resetAfter, retryAfter: limited && !never ? retryAfter : -1 };
      }),
  };
}

/** Returns the headers of a result. A negative number, such as a `retryAfter` of −1, has no header. Seconds are rounded up. */
export function rateLimitHeaders(result: Omit<RateLimitResult, 'limited'>): Record<string, string> {
  const seconds = (span: Millis): number => Math.ceil(nanos(span) / 1e9);
  const headers: readonly (readonly [string, number])[] = [
    ['X-RateLimit-Limit', result.limit],
    ['X-RateLimit-Remaining', result.remaining],
    ['X-RateLimit-Reset', result.resetAfter < 0 ? -1 : seconds(result.resetAfter)],
    ['Retry-After', result.retryAfter < 0 ? -1 : seconds(result.retryAfter)],
  ];
  return Object.fromEntries(
    headers.filter(([, value]) => value >= 0).map(([name, value]) => [name, String(value)]),
  );
}

/** Validates a quota. As in the original, the interval is a whole number of nanoseconds. */
function parse(quota: RateQuota): { interval: Millis; limit: number } {
  const name = 'rate' in Object(quota) ? 'rate' : 'maxRate';
  const { [name]: rate, maxBurst } = checkOptionNames(
    'quota',
    quota as Record<typeof name, Rate> & RateQuota,
    [name, 'maxBurst'],
  );
  const { count, period } = checkOptionNames(`quota.${name}`, rate, ['count', 'period']);
  const interval = Math.floor(
    nanos(positive(`quota.${name}.period`, period)) / whole(`quota.${name}.count`, count),
  );
  if (interval === 0)
    throw new SluiceError('ERR_NUMBER', `quota.${name}.count`, count, 'at most one per nanosecond');
  if (!Number.isSafeInteger(notNegative('quota.maxBurst', maxBurst)))
    throw new SluiceError('ERR_INTEGER', 'quota.maxBurst', maxBurst, 'or 0');
  return { interval: interval / 1e6, limit: maxBurst + 1 };
}
