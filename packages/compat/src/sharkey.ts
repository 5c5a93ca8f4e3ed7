/**
 * Sharkey's SkRateLimiterService over leakyBucket: the same limits, factors, answers and headers; one store call a check.
 *
 * All limits of one key share an actor's bucket, whatever their numbers: a changed factor finds what was used before.
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

/** Empties by `dripSize` (default 1) every `dripRate` ms (default 1000). */
export interface BucketRateLimit {
  /** Tells it from the legacy form. */
  readonly type: 'bucket';
  /** Names the limit: actors have a bucket for each. */
  readonly key: string;
  /** What the bucket holds: the most that passes at once. */
  readonly size: number;
  /** Time between two drips. */
  readonly dripRate?: Millis | null | undefined;
  /** Calls that leave with each drip. */
  readonly dripSize?: number | null | undefined;
}

/** `max` per `duration`, or one per `minInterval`; with neither of them complete: unlimited. */
export interface LegacyRateLimit {
  /** None: tells it from a bucket. */
  readonly type?: undefined;
  /** Names the limit: actors have a bucket for each. */
  readonly key: string;
  /** So many calls … */
  readonly max?: number | null | undefined;
  /** … in this span. */
  readonly duration?: Millis | null | undefined;
  /** The least time between two calls. */
  readonly minInterval?: Millis | null | undefined;
}

/** Either form. */
export type RateLimit = BucketRateLimit | LegacyRateLimit;

/** A limit in whole numbers, as it is applied. */
export interface TranslatedLimit {
  /** The most that passes at once. */
  readonly bucketSize: number;
  /** Time between two drips. */
  readonly dripRate: Millis;
  /** Calls that leave with each drip. */
  readonly dripSize: number;
  /** In which a full bucket empties. */
  readonly fullResetMs: Millis;
  /** The same in seconds, rounded up. */
  readonly fullResetSec: number;
}

/** What became of a call. */
export interface LimitInfo {
  /** Whether it is to be refused. */
  readonly blocked: boolean;
  /** Calls that would still pass now. */
  readonly remaining: number;
  /** Until a call passes again; 0 while some remain. Seconds are rounded up, here and below. */
  readonly resetSec: number;
  /** The same, exactly. */
  readonly resetMs: Millis;
  /** In which the bucket empties, as if its last drip had fallen just now. */
  readonly fullResetSec: number;
  /** The same, exactly. */
  readonly fullResetMs: Millis;
}

/** An address or other name, or a user. A user and a string of the same id share their buckets. */
export type Actor = string | { readonly id: string };

export interface SkRateLimiterOptions {
  /** Default: in memory. */
  readonly store?: Store | undefined;
  /** For the default store and for how long factors are remembered; default: the system's. */
  readonly clock?: MemoryOptions['clock'];
  /** Above 1 is tighter, below 1 wider, 0 unlimited; default 1 for all. Remembered for 60 seconds. */
  readonly factor?: ((actor: Actor) => MaybePromise<number>) | undefined;
  /** Everything is unlimited, whatever the limits say. */
  readonly disabled?: boolean | undefined;
}

/** As the original is called. */
export interface SkRateLimiterService {
  /** Charges one call if it passes. A bad limit or factor rejects with a SluiceError. */
  readonly limit: (limit: RateLimit, actorOrUser: Actor) => Promise<LimitInfo>;
}

/** How long a factor is remembered, and of how many actors at least. */
const REMEMBERED: Millis = 60_000;
const ACTORS = 10_000;
/** Factors of actors with a longer id, in characters, are not remembered: 10,000 of those could fill the memory. */
const LONGEST_ACTOR = 1024;
/**
 * Keys are spread over this many limiter names. One name per key would cost memory for each of them, and clients can make
 * keys up. The names are part of where stores keep rows: another number would start every bucket fresh.
 */
const NAMES = 1024;
/** A bucket that nobody fills. */
const WIDE = 2 ** 52;

const UNLIMITED: LimitInfo = {
  blocked: false,
  remaining: Number.MAX_SAFE_INTEGER,
  resetSec: 0,
  resetMs: 0,
  fullResetSec: 0,
  fullResetMs: 0,
};

/** The service, with what Sharkey injects as options. */
export function createSkRateLimiterService(options: SkRateLimiterOptions = {}): SkRateLimiterService {
  checkOptionNames('createSkRateLimiterService', options, ['store', 'clock', 'factor', 'disabled']);
  const { store, clock, factor, disabled = false } = options;
  if (factor !== undefined && typeof factor !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'createSkRateLimiterService.factor', factor, 'a function');
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
      // The length keeps apart what would read the same: key 'a b' of 'c', and key 'a' of 'b c'.
      const row = `${key.length} ${key} ${actor}`;
      const decision = await limiterFor(key, bucket).take(row);
      // Longer than a full one takes: the bucket has become smaller and holds more than its size, or the clock went back.
      if (decision.allowed || decision.resetAfter <= bucket.fullResetMs + GRAIN)
        return infoOf(bucket, decision, bucket.bucketSize - decision.remaining);
      const wide = await limiterFor(key, { ...bucket, bucketSize: WIDE }).peek(row);
      return infoOf(bucket, decision, WIDE - wide.remaining);
    },
  };
}

/** The limit as it is applied under a factor; null: unlimited. A bad definition throws, unless the factor is 0. */
export function translateLimit(limit: RateLimit, factor = 1): TranslatedLimit | null {
  if (factor === 0) return null;
  if (typeof factor !== 'number' || !(factor > 0) || factor === Infinity)
    throw new SluiceError('ERR_NUMBER', 'factor', factor, 'or 0: unlimited');
  const bucket = isLegacy(limit) ? bucketOf(limit) : limit;
  if (bucket === null) return null;
  const bucketSize = Math.max(Math.ceil(checked(limit, 'size', bucket.size, 1) / factor), 1);
  const dripRate = Math.ceil(checked(limit, 'dripRate', bucket.dripRate ?? 1000, 1) * factor);
  const dripSize = Math.ceil(checked(limit, 'dripSize', bucket.dripSize ?? 1, 1));
  const fullResetMs = dripRate * Math.ceil(bucketSize / dripSize);
  return { bucketSize, dripRate, dripSize, fullResetMs, fullResetSec: seconds(fullResetMs) };
}

/** Any other type is read as a bucket. */
function isLegacy(limit: RateLimit): limit is LegacyRateLimit {
  return (limit.type ?? undefined) === undefined;
}

/** A legacy limit as a bucket: of `max`, with the drip whose pace comes nearest to `max` per `duration`. */
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
    throw new SluiceError('ERR_NUMBER', `limit ${key}: ${name}`, value, least === 1 ? 'at least 1' : '');
  return value;
}

/** Those of one name read each other's rows. */
function buckets(store: Store): (key: string, bucket: TranslatedLimit) => AnyLimiter {
  const limiterOf = limitersOf(store);
  return (key, { bucketSize: size, dripRate, dripSize }) =>
    limiterOf(`sharkey-${digest(key) % NAMES}`, `${size} ${dripRate} ${dripSize}`, () =>
      leakyBucket({ size, dripRate, dripSize }),
    );
}

/** Asks for an actor's factor once a minute, and once for all who wait for it. A failed question is not remembered. */
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

/** `level`: how much is in the bucket now. */
function infoOf(
  { dripRate, dripSize }: TranslatedLimit,
  { allowed, remaining, retryAfter, resetAfter }: Decision,
  level: number,
): LimitInfo {
  const drips = Math.ceil(level / dripSize);
  // A full bucket has room again with its next drip, the first of those until it is empty.
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

/** Names and values, in order. The last two only when blocked. */
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

/** A response of Express or Node (`setHeader`), a reply of Fastify or a context of Hono (`header`). */
export type HeaderTarget =
  | { setHeader(name: string, value: string): unknown }
  | { header(name: string, value: string): unknown };

/** Sets them on a response. */
export function sendRateLimitHeaders(reply: HeaderTarget, info: LimitInfo): void {
  for (const [name, value] of rateLimitHeaders(info)) {
    if ('setHeader' in reply) reply.setHeader(name, value);
    else reply.header(name, value);
  }
}
