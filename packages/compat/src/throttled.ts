/**
 * throttled's GCRA rate limiter: quotas of a rate and a burst, its results and its headers; in memory or on any store.
 * Spans are milliseconds here, where Go has a Duration.
 */
import { type Decision, type MaybePromise, memory, type Millis, SluiceError, type Store } from 'sluice';
import { type Answer, chain, type Clock, type WithStore } from 'sluice/store';
import { checkOptionNames, notNegative, positive, whole } from './shared/options.ts';
import { cellCounter, nanos } from './shared/cells.ts';

/** `count` requests per `period`, evenly spaced. */
export interface Rate {
  /** Requests. */
  readonly count: number;
  /** In this span. */
  readonly period: Millis;
}

/** So many a second. */
export const perSec = (count: number): Rate => ({ count, period: 1000 });
/** So many a minute. */
export const perMin = (count: number): Rate => ({ count, period: 60_000 });
/** So many an hour. */
export const perHour = (count: number): Rate => ({ count, period: 3_600_000 });
/** So many a day. */
export const perDay = (count: number): Rate => ({ count, period: 86_400_000 });
/** So many in each period. */
export const perDuration = (count: number, period: Millis): Rate => ({ count, period });

/** The rate may be called `rate` or, as in Go, `maxRate`. */
export type RateQuota = ({ readonly rate: Rate } | { readonly maxRate: Rate }) & {
  /** How many may come at once beyond the first: with 0, they must be evenly spaced. */
  readonly maxBurst: number;
};

/** What became of a request. */
export interface RateLimitResult {
  /** Whether it is to be refused. */
  readonly limited: boolean;
  /** `maxBurst` + 1. */
  readonly limit: number;
  /** That would still pass now. */
  readonly remaining: number;
  /** Until the key is as good as new. */
  readonly resetAfter: Millis;
  /** −1 when not limited, or when the quantity never passes. */
  readonly retryAfter: Millis;
}

/** As the original is called. */
export interface GcraRateLimiter<R extends MaybePromise<Decision> = Decision> {
  /** Charges `quantity` (default 1) if it passes; 0 looks and charges nothing. */
  rateLimit(key: string, quantity?: number): Answer<R, RateLimitResult>;
}

export interface GcraRateLimiterOptions {
  /** What is limited: a rate and a burst. */
  readonly quota: RateQuota;
  /** Keeps keys apart from those of other limiters in the same store; those with the same prefix share them. */
  readonly prefix?: string | undefined;
  /** Keys kept by the store in memory; default: no bound. */
  readonly maxKeys?: number | undefined;
  /** Of the store in memory; a store that is given has its own. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
}

/** In memory, results come at once; with another store, as that store answers. */
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
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxKeys', maxKeys, 'only without a store');
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

/** Only what is known: a negative number, such as the −1 of `retryAfter`, has no header. Seconds are rounded up. */
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

/** As there, an interval is a whole number of nanoseconds. */
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
