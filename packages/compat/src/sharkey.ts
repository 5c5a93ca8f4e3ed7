/**
 * A drop-in for Sharkey's SkRateLimiterService on `leakyBucket`, with the same limits, factors, results and headers, and one
 * store call per check.
 *
 * All limits with the same key share an actor's bucket, whatever their sizes and rates, so calls that were already counted stay
 * in the bucket when a factor changes.
 */
import { digest } from './shared/digest.ts';
import {
  type AnyLimiter,
  type Decision,
  leakyBucket,
  type MaybePromise,
  memory,
  type MemoryOptions,
  type Millis,
  SluiceError,
  type Store,
} from 'sluice';
import { isPromise } from 'sluice/store';
import { checkOptionNames } from './shared/options.ts';
import { boundedCache } from './shared/bounded-cache.ts';
import { limitersOf } from './shared/limiters.ts';
import { GRAIN, wholeUnits } from './shared/rounding.ts';

/** A bucket that loses `dripSize` calls (default 1) every `dripRate` milliseconds (default 1000). */
export interface BucketRateLimit {
  /** Distinguishes a bucket from the legacy form. */
  readonly type: 'bucket';
  /** The name of the limit. An actor has one bucket per name. */
  readonly key: string;
  /** The number of calls that the bucket holds, which is the largest burst. */
  readonly size: number;
  /** Milliseconds between two drips. */
  readonly dripRate?: Millis | null | undefined;
  /** Calls that each drip removes from the bucket. */
  readonly dripSize?: number | null | undefined;
}

/**
 * A limit of `max` calls per `duration`, or of one call per `minInterval`. Calls are unlimited if neither `minInterval` nor both
 * `max` and `duration` are given.
 */
export interface LegacyRateLimit {
  /** Always undefined, which distinguishes this form from a bucket. */
  readonly type?: undefined;
  /** The name of the limit. An actor has one bucket per name. */
  readonly key: string;
  /** The maximum number of calls within `duration`. */
  readonly max?: number | null | undefined;
  /** Milliseconds in which at most `max` calls pass. */
  readonly duration?: Millis | null | undefined;
  /** The minimum number of milliseconds between two calls. */
  readonly minInterval?: Millis | null | undefined;
}

/** A limit in either form. */
export type RateLimit = BucketRateLimit | LegacyRateLimit;

/** The bucket that results from a limit and a factor, in whole numbers. */
export interface TranslatedLimit {
  /** The number of calls that the bucket holds, which is the largest burst. */
  readonly bucketSize: number;
  /** Milliseconds between two drips. */
  readonly dripRate: Millis;
  /** Calls that each drip removes from the bucket. */
  readonly dripSize: number;
  /** Milliseconds in which a full bucket empties. */
  readonly fullResetMs: Millis;
  /** `fullResetMs` in seconds, rounded up. */
  readonly fullResetSec: number;
}

/** The result of a call. */
export interface LimitInfo {
  /** Whether the call is denied. */
  readonly blocked: boolean;
  /** How many more calls would pass now. */
  readonly remaining: number;
  /** Seconds until a call passes again, rounded up. 0 while calls remain. */
  readonly resetSec: number;
  /** Milliseconds until a call passes again. 0 while calls remain. */
  readonly resetMs: Millis;
  /** `fullResetMs` in seconds, rounded up. */
  readonly fullResetSec: number;
  /** Milliseconds until the bucket is empty, computed as if a drip had fallen at this instant. */
  readonly fullResetMs: Millis;
}

/** The caller, which is a user or a string such as an address. A user and a string with the same id share their buckets. */
export type Actor = string | { readonly id: string };

/** Options of `createSkRateLimiterService`. */
export interface SkRateLimiterOptions {
  /** The store that holds the buckets. Default: the memory of this process. */
  readonly store?: Store | undefined;
  /** The clock of the default store and of remembered factors. Default: the system clock. */
  readonly clock?: MemoryOptions['clock'];
  /**
   * Returns the factor of an actor. A factor above 1 tightens limits, one below 1 widens them, and 0 means unlimited. The result
   * is remembered for 60 seconds. Default: 1 for everyone.
   */
  readonly factor?: ((actor: Actor) => MaybePromise<number>) | undefined;
  /** Disables all limits. Default false. */
  readonly disabled?: boolean | undefined;
}

/** A drop-in for Sharkey's `SkRateLimiterService`, with its `limit` method. */
export interface SkRateLimiterService {
  /** Charges one call if it passes. Rejects with a `SluiceError` if the limit or the factor is invalid. */
  readonly limit: (limit: RateLimit, actorOrUser: Actor) => Promise<LimitInfo>;
}

/** How long a factor is remembered. */
const REMEMBERED: Millis = 60_000;
const ACTORS = 10_000;
/** Factors of actors whose ids are longer than this are not remembered, because 10,000 long ids could fill the memory. */
const LONGEST_ACTOR = 1024;
/**
 * Keys are spread over this many limiter names. One name per key would cost memory for each key, and clients can invent
 * keys. Stores keep rows under these names, so a different number would reset every bucket.
 */
const NAMES = 1024;
/** A bucket size that is never reached. */
const WIDE = 2 ** 52;

const UNLIMITED: LimitInfo = {
  blocked: false,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSec: 0,
  resetMs: 0,
  fullResetSec: 0,
  fullResetMs: 0,
};

/** Creates the service. The dependencies that Sharkey injects are passed as options. */
export function createSkRateLimiterService(options: SkRateLimiterOptions = {}): SkRateLimiterService {
  checkOptionNames('createSkRateLimiterService', options, ['store', 'clock', 'factor', 'disabled']);
  const { store, clock, factor, disabled = false } = options;
  if (factor !== undefined && typeof factor !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      'createSkRateLimiterService.factor',
      factor,
      '',
      'must be a function',
    );
  const limiterFor = buckets(store ?? memory({ clock }));
  const factorOf = factor === undefined ? () => 1 : remembered(factor, clock ?? performance);

  return {
    async limit(limit, actorOrUser) {
      if (disabled) return { ...UNLIMITED };
      const actor = typeof actorOrUser === 'string' ? actorOrUser : actorOrUser?.id;
      if (typeof actor !== 'string') throw new SluiceError('ERR_KEY', 'actor', actor);
      const bucket = translateLimit(limit, await factorOf(actorOrUser));
      if (bucket === null) return { ...UNLIMITED };
      const { key } = limit;
      if (typeof key !== 'string') throw new SluiceError('ERR_KEY', 'limit.key', key);
      // Without the length, key 'a b' of actor 'c' and key 'a' of actor 'b c' would have the same row.
      const row = `${key.length} ${key} ${actor}`;
      const decision = await limiterFor(key, bucket).take(row);
      // If the reset takes longer than it would for a full bucket, the bucket has shrunk below its content, or the clock went back.
      // In both cases, a peek at the same row with a practically unlimited bucket size shows how many calls the row contains.
      if (decision.allowed || decision.resetAfter <= bucket.fullResetMs + GRAIN)
        return infoOf(bucket, decision, bucket.bucketSize - decision.remaining);
      const wide = await limiterFor(key, { ...bucket, bucketSize: WIDE }).peek(row);
      return infoOf(bucket, decision, WIDE - wide.remaining);
    },
  };
}

/**
 * Returns the bucket that results from a limit and a factor, or null if calls are unlimited. Throws a `SluiceError` if the limit
 * is invalid, unless the factor is 0.
 */
export function translateLimit(limit: RateLimit, factor = 1): TranslatedLimit | null {
  if (factor === 0) return null;
  if (typeof factor !== 'number' || !(factor > 0) || factor === Infinity)
    throw new SluiceError('ERR_NUMBER', 'factor', factor, 'or 0 for unlimited');
  const bucket = isLegacy(limit) ? bucketOf(limit) : limit;
  if (bucket === null) return null;
  const bucketSize = Math.max(Math.ceil(checked(limit, 'size', bucket.size, 1) / factor), 1);
  const dripRate = Math.ceil(checked(limit, 'dripRate', bucket.dripRate ?? 1000, 1) * factor);
  const dripSize = Math.ceil(checked(limit, 'dripSize', bucket.dripSize ?? 1, 1));
  const fullResetMs = dripRate * Math.ceil(bucketSize / dripSize);
  return { bucketSize, dripRate, dripSize, fullResetMs, fullResetSec: seconds(fullResetMs) };
}

/** Whether a limit has the legacy form. A limit with any other `type` is read as a bucket. */
function isLegacy(limit: RateLimit): limit is LegacyRateLimit {
  return (limit.type ?? undefined) === undefined;
}

/** Converts a legacy limit to a bucket of size `max`, with the drip whose rate is closest to `max` per `duration`. */
function bucketOf(limit: LegacyRateLimit): Omit<BucketRateLimit, 'type' | 'key'> | null {
  const { max, duration, minInterval } = limit;
  if (isGiven(max) && isGiven(duration)) {
    if (duration === 0) return null;
    checked(limit, 'max', max, 1);
    checked(limit, 'duration', duration, 0);
    const least = isGiven(minInterval) ? checked(limit, 'minInterval', minInterval, -Infinity) : undefined;
    const every = Math.max(least ?? Math.round(duration / max), 1);
    const dripSize = Math.max(Math.round(max / (duration / every)), 1);
    const dripRate = Math.max(Math.round(duration / (max / dripSize)), 1);
    return { size: max, dripSize, dripRate };
  }
  if (!isGiven(minInterval) || minInterval === 0) return null;
  return { size: 1, dripRate: Math.max(Math.round(checked(limit, 'minInterval', minInterval, 0)), 1) };
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

function checked({ key }: RateLimit, name: string, value: number, least: number): number {
  if (!Number.isFinite(value) || value < least)
    throw new SluiceError(
      'ERR_NUMBER',
      `limit ${key}: ${name}`,
      value,
      '',
      least === 1 ? 'must be a finite number, 1 or more' : undefined,
    );
  return value;
}

/** Returns a function that gives the limiter of a key and a bucket. Limiters with the same name share their rows. */
function buckets(store: Store): (key: string, bucket: TranslatedLimit) => AnyLimiter {
  const limiterOf = limitersOf(store);
  return (key, { bucketSize: size, dripRate, dripSize }) =>
    limiterOf(`sharkey-${digest(key) % NAMES}`, `${size} ${dripRate} ${dripSize}`, () =>
      leakyBucket({ size, dripRate, dripSize }),
    );
}

/**
 * Requests an actor's factor at most once a minute. Concurrent calls share one request, and a failed request is not remembered.
 */
function remembered(
  ask: (actor: Actor) => MaybePromise<number>,
  clock: { now(): Millis },
): (actor: Actor) => MaybePromise<number> {
  const factors = boundedCache<{ readonly since: Millis; readonly factor: MaybePromise<number> }>(ACTORS);
  return (actor) => {
    const id = typeof actor === 'string' ? `string ${actor}` : `user ${actor.id}`;
    if (id.length > LONGEST_ACTOR) return ask(actor);
    const now = clock.now();
    const before = factors.get(id);
    if (before !== undefined && now >= before.since && now - before.since <= REMEMBERED) return before.factor;
    const entry = factors.set(id, { since: now, factor: ask(actor) });
    if (isPromise(entry.factor)) entry.factor.catch(() => factors.get(id) === entry && factors.delete(id));
    return entry.factor;
  };
}

/** The result of a call. `level` is the number of calls in the bucket. */
function infoOf(
  { dripRate, dripSize }: TranslatedLimit,
  { allowed, remaining, retryAfter, resetAfter }: Decision,
  level: number,
): LimitInfo {
  const drips = Math.ceil(level / dripSize);
  // A full bucket has room again after its next drip, which is the first of `drips`.
  const wait = allowed ? resetAfter - (drips - 1) * dripRate : retryAfter;
  const resetMs = allowed && remaining > 0 ? 0 : wholeUnits(wait);
  const fullResetMs = drips * dripRate;
  return {
    blocked: !allowed,
    remaining,
    resetSec: seconds(resetMs),
    resetMs,
    fullResetSec: seconds(fullResetMs),
    fullResetMs,
  };
}

function seconds(span: Millis): number {
  return Math.ceil(span / 1000);
}

/**
 * Returns the names and values of the headers, in order. `Retry-After` and `X-RateLimit-Reset` are included only if the call was
 * blocked.
 */
export function rateLimitHeaders(info: LimitInfo): [name: string, value: string][] {
  const headers: [string, string][] = [
    ['X-RateLimit-Clear', (info.fullResetMs / 1000).toFixed(3)],
    ['X-RateLimit-Remaining', String(info.remaining)],
  ];
  if (info.blocked)
    headers.push(
      ['Retry-After', String(info.resetSec)],
      ['X-RateLimit-Reset', (info.resetMs / 1000).toFixed(3)],
    );
  return headers;
}

/** A response of Express or Node (`setHeader`), or a Fastify reply or Hono context (`header`). */
export type HeaderTarget =
  | { setHeader(name: string, value: string): unknown }
  | { header(name: string, value: string): unknown };

/** Sets the rate limit headers on a response. */
export function sendRateLimitHeaders(reply: HeaderTarget, info: LimitInfo): void {
  for (const [name, value] of rateLimitHeaders(info)) {
    if ('setHeader' in reply) reply.setHeader(name, value);
    else reply.header(name, value);
  }
}
