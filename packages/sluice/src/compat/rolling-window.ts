/**
 * RisingStack's rate-limiter and classdojo's rolling-rate-limiter: so many actions in any interval.
 * The factory of the first is here, the classes of the second are next door. Spans are milliseconds, but for `wait`.
 */
import { createLimiter, type Millis, type Mode, type Policy, slidingLog, SluiceError } from '../index.ts';
import { known, notNegative, oneOf, positive, whole } from '../options.ts';
import { answer, type Callback } from './callback.ts';
import { ABOVE, countPast, leftOf, policiesOf } from './rolling-log.ts';
import { storeOf, type StoreOptions } from './store-of.ts';

export {
  InMemoryRateLimiter,
  type RateLimiterOptions,
  type RateLimitInfo,
  RedisRateLimiter,
  type RedisRateLimiterOptions,
} from './rolling-window-classes.ts';

export interface RollingLimit {
  readonly interval: Millis;
  readonly maxInInterval: number;
  /** The least time between two actions; default 0. */
  readonly minDifference?: Millis | undefined;
  /** Entries kept per key, default 10,000. A log that fits is exact; a longer one is cut into so many sub-windows. */
  readonly buckets?: number | undefined;
}

interface SharedOptions extends StoreOptions {
  /** A client of ioredis, iovalkey, node-redis or valkey-glide. Default: in memory. */
  readonly redis?: object | undefined;
  /** 'binary' (default): all or nothing. 'nary': what fits. 'uniform': every attempt counts, also above the limit. */
  readonly mode?: 'nary' | 'binary' | 'uniform' | undefined;
  /** Keeps this limiter's keys apart. Default: derived from the limits. */
  readonly namespace?: string | undefined;
}

export type RateLimiterFactoryOptions = SharedOptions &
  (RollingLimit | { readonly limits: readonly RollingLimit[] | { readonly [index: string]: RollingLimit } });

export interface RollingResult {
  /** How many of the actions count: all of `n`, none, or in mode 'nary' some. */
  readonly acknowledged: number;
  /** The same, by the name that version 1.0.4 gave it. */
  readonly actionsRecorded: number;
  /** Of the limit with least left; below 0 only in mode 'uniform'. */
  readonly actionsRemaining: number;
  /** Microseconds until `n` actions would pass; 0 now, Infinity never. */
  readonly wait: number;
}

/** `(id?, n?, callback?)`; a number alone is `n`. Without a callback, a promise. */
export interface RollingLimiter {
  (id?: string, n?: number): Promise<RollingResult>;
  (n: number): Promise<RollingResult>;
  (callback: Callback<RollingResult>): void;
  (idOrN: string | number, callback: Callback<RollingResult>): void;
  (id: string | undefined, n: number | undefined, callback: Callback<RollingResult>): void;
}

const MODES: Readonly<Record<string, Mode>> = { binary: 'whole', nary: 'partial', uniform: 'always' };
const SHARED = ['redis', 'store', 'clock', 'mode', 'namespace'] as const;
const LIMIT = ['interval', 'maxInInterval', 'minDifference', 'buckets'] as const;
/** A log this short is exact whatever `buckets` says: 16 bytes an entry. */
const SHORT = 1000;

export function rateLimiterFactory(options: RateLimiterFactoryOptions): RollingLimiter {
  const limits = limitsOf(options);
  const { mode = 'binary', namespace, redis } = options;
  oneOf('options.mode', mode, Object.keys(MODES));
  const uniform = mode === 'uniform';
  const limiter = createLimiter(
    policiesOf(
      limits.map((limit) => logOf(limit, uniform)),
      limits.map(({ minDifference = 0 }) => minDifference),
    ),
    { store: storeOf(options, redis), name: namespace },
  );
  const raised = uniform ? ABOVE : 0;

  async function attempt(id: string, n: number): Promise<RollingResult> {
    // Both in one tick: they travel together. If ever somebody comes between, only the wait knows of it.
    const [decision, again] = await Promise.all([
      limiter.take(id, { cost: n, mode: MODES[mode] }),
      limiter.peek(id, n + raised),
    ]);
    return {
      acknowledged: decision.taken,
      actionsRecorded: decision.taken,
      actionsRemaining: leftOf(decision) - raised,
      // Half a microsecond is forgiven when the wait is over, so rounding never comes too early.
      wait: Math.round(again.retryAfter * 1000),
    };
  }

  return ((...args: unknown[]) => {
    const callback = typeof args.at(-1) === 'function' ? (args.pop() as Callback<RollingResult>) : undefined;
    const [first, second] = args as [string | number | undefined, number | undefined];
    const alone = typeof first === 'number' && second === undefined;
    const n = whole('n', (alone ? first : second) ?? 1);
    const id = alone ? '' : (first ?? '');
    return answer(attempt(typeof id === 'number' ? String(id) : id, n), callback);
  }) as RollingLimiter;
}

function limitsOf(options: RateLimiterFactoryOptions): readonly RollingLimit[] {
  if ('limits' in Object(options)) {
    const several = options as SharedOptions & { readonly limits: readonly RollingLimit[] };
    const { limits } = known('options', several, [...SHARED, 'limits']);
    const all = Object.entries(Object(limits) as Record<string, RollingLimit>);
    if (all.length === 0) throw new SluiceError('ERR_OPTIONS', 'options.limits', limits, 'at least one');
    for (const [index, limit] of all)
      checkLimit(`options.limits.${index}`, known(`options.limits.${index}`, limit, LIMIT));
    return all.map(([, limit]) => limit);
  }
  const one = known('options', options as SharedOptions & RollingLimit, [...SHARED, ...LIMIT]);
  checkLimit('options', one);
  return [one];
}

function checkLimit(what: string, limit: RollingLimit): void {
  const { interval, maxInInterval, minDifference = 0, buckets = 1 } = limit;
  positive(`${what}.interval`, interval);
  positive(`${what}.maxInInterval`, maxInInterval);
  notNegative(`${what}.minDifference`, minDifference);
  whole(`${what}.buckets`, buckets);
}

function logOf({ interval, maxInInterval, buckets = 10_000 }: RollingLimit, uniform: boolean): Policy {
  const fits = maxInInterval <= Math.max(buckets, SHORT);
  const resolution = fits ? 'exact' : buckets;
  const log = slidingLog({ limit: maxInInterval, per: interval, resolution });
  return uniform ? countPast(log, buckets) : log;
}
