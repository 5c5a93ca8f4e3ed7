/**
 * RisingStack's rate-limiter and classdojo's rolling-rate-limiter: so many actions in any interval. First comes the
 * factory of the one, then the classes of the other, then what both share. Spans are milliseconds, but for `wait`.
 */
import { inMillis } from './shared/millis.ts';
import {
  type AnyLimiter,
  createLimiter,
  type Decision,
  type Millis,
  minInterval,
  type Mode,
  type Policy,
  slidingLog,
  SluiceError,
} from 'sluice';
import { atLeastOne, checkOptionNames, notNegative, oneOf, positive, whole } from './shared/options.ts';
import { answer, type Callback } from './shared/callback.ts';
import { wholeUnits } from './shared/rounding.ts';
import { storeOf, type StoreOptions } from './shared/store-of.ts';

export type { Callback } from './shared/callback.ts';

/** So many in any interval of this length. */
export interface RollingLimit {
  /** The length of a window. */
  readonly interval: Millis;
  /** The most that count in any window. */
  readonly maxInInterval: number;
  /** The least time between two actions; default 0. */
  readonly minDifference?: Millis | undefined;
  /** Entries kept per key, default 10,000. A log that fits is exact; a longer one is cut into so many sub-windows. */
  readonly buckets?: number | undefined;
}

/** Beside the limits. */
export interface RollingOptions extends StoreOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Default: in memory. */
  readonly redis?: object | undefined;
  /** 'binary' (default): all or nothing. 'nary': what fits. 'uniform': every attempt counts, also above the limit. */
  readonly mode?: 'nary' | 'binary' | 'uniform' | undefined;
  /** Limiters with the same namespace share their keys. Default: derived from the limits and the mode. */
  readonly namespace?: string | undefined;
}

/** One limit, or several that must all allow. */
export type RateLimiterFactoryOptions = RollingOptions &
  (RollingLimit | { readonly limits: readonly RollingLimit[] | { readonly [index: string]: RollingLimit } });

/** What became of the actions. */
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

/** Older versions handed the limiter to a callback. */
export function rateLimiterFactory(
  options: RateLimiterFactoryOptions,
  callback?: Callback<RollingLimiter>,
): RollingLimiter {
  const limits = limitsOf(options);
  const { mode = 'binary', namespace, redis } = options;
  oneOf('options.mode', mode, Object.keys(MODES));
  const uniform = mode === 'uniform';
  const limiter = createLimiter(
    policiesOf(
      limits.map((limit) => logOf(limit, uniform)),
      limits.map(({ minDifference = 0 }) => minDifference),
    ),
    { store: storeOf(options, redis), name: namespace ?? nameOf(limits, mode) },
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

  const rolling = ((...args: unknown[]) => {
    const done = typeof args.at(-1) === 'function' ? (args.pop() as Callback<RollingResult>) : undefined;
    const [first, second] = args as [string | number | undefined, number | undefined];
    const alone = typeof first === 'number' && second === undefined;
    const n = whole('n', (alone ? first : second) ?? 1);
    const id = alone ? '' : (first ?? '');
    return answer(attempt(typeof id === 'number' ? String(id) : id, n), done);
  }) as RollingLimiter;
  if (callback !== undefined) queueMicrotask(() => callback(null, rolling));
  return rolling;
}

function limitsOf(options: RateLimiterFactoryOptions): readonly RollingLimit[] {
  if ('limits' in Object(options)) {
    const several = options as RollingOptions & { readonly limits: readonly RollingLimit[] };
    const { limits } = checkOptionNames('options', several, [...SHARED, 'limits']);
    const all = Object.entries(Object(limits) as Record<string, RollingLimit>);
    if (all.length === 0) throw new SluiceError('ERR_OPTIONS', 'options.limits', limits, 'at least one');
    for (const [index, limit] of all)
      checkLimit(`options.limits.${index}`, checkOptionNames(`options.limits.${index}`, limit, LIMIT));
    return all.map(([, limit]) => limit);
  }
  const one = checkOptionNames('options', options as RollingOptions & RollingLimit, [...SHARED, ...LIMIT]);
  checkLimit('options', one);
  return [one];
}

function checkLimit(what: string, limit: RollingLimit): void {
  const { interval, maxInInterval, minDifference = 0, buckets = 1 } = limit;
  positive(`${what}.interval`, interval);
  atLeastOne(`${what}.maxInInterval`, maxInInterval);
  notNegative(`${what}.minDifference`, minDifference);
  whole(`${what}.buckets`, buckets);
}

function logOf({ interval, maxInInterval, buckets = 10_000 }: RollingLimit, uniform: boolean): Policy {
  const fits = maxInInterval <= Math.max(buckets, SHORT);
  const resolution = fits ? 'exact' : buckets;
  const log = slidingLog({ limit: maxInInterval, per: inMillis(interval), resolution });
  return uniform ? countPast(log, buckets) : log;
}

/* classdojo's rolling-rate-limiter, version 0.4: every attempt counts, blocked ones too. */

export interface RateLimiterOptions extends StoreOptions {
  /** The length of a window. */
  readonly interval: Millis;
  /** The most attempts that pass in any window. */
  readonly maxInInterval: number;
  /** The least time between two attempts; default 0. */
  readonly minDifference?: Millis | undefined;
}

export interface RedisRateLimiterOptions extends RateLimiterOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Not required with `store`. */
  readonly client?: object | undefined;
  /** Keeps this limiter's keys apart. */
  readonly namespace: string;
}

/** What became of an attempt. */
export interface RateLimitInfo {
  /** Whether it is to be refused. */
  readonly blocked: boolean;
  /** There were too many in the interval. */
  readonly blockedDueToCount: boolean;
  /** It came too soon after the one before. */
  readonly blockedDueToMinDifference: boolean;
  /** Until an attempt passes if none is made before; whole milliseconds, rounded up. */
  readonly millisecondsUntilAllowed: Millis;
  /** Within the interval, after this attempt; says nothing of `minDifference`. */
  readonly actionsRemaining: number;
}

const OPTIONS = ['interval', 'maxInInterval', 'minDifference', 'store', 'clock'] as const;

class RollingRateLimiter {
  readonly #limiter: AnyLimiter;

  constructor(options: RateLimiterOptions, client?: object, name?: string) {
    const { interval, maxInInterval, minDifference = 0 } = options;
    positive('options.interval', interval);
    atLeastOne('options.maxInInterval', maxInInterval);
    notNegative('options.minDifference', minDifference);
    const log = slidingLog({ limit: maxInInterval, per: inMillis(interval) });
    this.#limiter = createLimiter(policiesOf([log], [minDifference]), {
      store: storeOf(options, client),
      name: name ?? nameOf([options]),
    });
  }

  /** An attempt: true when it is blocked. */
  async limit(id: number | string): Promise<boolean> {
    return !(await this.#limiter.take(String(id), { mode: 'always' })).allowed;
  }

  /** The same, and why. */
  async limitWithInfo(id: number | string): Promise<RateLimitInfo> {
    const key = String(id);
    // All in one tick: they travel together. If ever somebody comes between, only reasons and wait know of it.
    const [before, attempt, after] = await Promise.all([
      this.#limiter.peek(key),
      this.#limiter.take(key, { mode: 'always' }),
      this.#limiter.peek(key),
    ]);
    return infoOf(!attempt.allowed, before, after, leftOf(attempt));
  }

  /** What an attempt would come to; nothing is counted. */
  async wouldLimit(id: number | string): Promise<boolean> {
    return !(await this.#limiter.peek(String(id))).allowed;
  }

  /** The same, and why. */
  async wouldLimitWithInfo(id: number | string): Promise<RateLimitInfo> {
    const now = await this.#limiter.peek(String(id));
    return infoOf(!now.allowed, now, now, Math.max(0, leftOf(now) - 1));
  }

  /** As if nobody had ever tried. */
  async clear(id: number | string): Promise<void> {
    await this.#limiter.reset(String(id));
  }
}

/** State of its own in this process; or in any `store`. */
export class InMemoryRateLimiter extends RollingRateLimiter {
  constructor(options: RateLimiterOptions) {
    checkOptionNames('options', options, OPTIONS);
    super(options);
  }
}

/** State shared by all that have the same `namespace` in the same Redis. */
export class RedisRateLimiter extends RollingRateLimiter {
  constructor(options: RedisRateLimiterOptions) {
    checkOptionNames('options', options, [...OPTIONS, 'client', 'namespace']);
    const { client, namespace, store } = options;
    if (typeof namespace !== 'string')
      throw new SluiceError('ERR_MISSING_OPTION', 'options.namespace', namespace);
    if (client === undefined && store === undefined)
      throw new SluiceError('ERR_MISSING_OPTION', 'options.client', client);
    super(options, client, namespace);
  }
}

function infoOf(blocked: boolean, before: Decision, after: Decision, left: number): RateLimitInfo {
  const waits = before.policies.filter(({ retryAfter }) => retryAfter > 0).map(({ name }) => name);
  const tooSoon = blocked && waits.includes(GAP);
  return {
    blocked,
    // The count, too, if somebody came between and took the last.
    blockedDueToCount: blocked && (!tooSoon || waits.length > 1),
    blockedDueToMinDifference: tooSoon,
    millisecondsUntilAllowed: wholeUnits(after.retryAfter),
    actionsRemaining: left,
  };
}

/** For a limiter without a namespace, which neither original requires. */
function nameOf(limits: readonly RollingLimit[], mode = 'classic'): string {
  const numbers = limits.map((limit) => LIMIT.map((option) => limit[option] ?? '').join(':'));
  return `rolling-window ${mode} ${numbers.join('&')}`;
}

/* What both share: logs and a gap in one row, and a log that counts on when its limit is reached. */

/**
 * How far past its limit a log may count. Its own limit is raised by this much, so that `remaining` also says how much
 * was too much; and a cost raised by this much asks whether the cost fits the limit that was meant.
 */
const ABOVE = 2 ** 40;

/**
 * Every attempt counts, and none is refused by the log itself. At least `entries` are kept apart; beyond that and beyond
 * the limit the oldest merge, which shows only in how much was too much.
 */
function countPast(log: Policy, entries: number): Policy {
  const limit = log.limit + ABOVE;
  return {
    ...log,
    limit,
    params: { ...log.params, limit, entries: Math.max(log.params['entries'] as number, entries) },
  };
}

const GAP = 'gap';

/** The logs, and the longest of the least times between two actions. */
function policiesOf(logs: readonly Policy[], gaps: readonly number[]): Record<string, Policy> {
  const policies = Object.fromEntries(logs.map((log, index) => [`log ${index}`, log]));
  const every = Math.max(...gaps);
  return every > 0 ? { ...policies, [GAP]: minInterval({ every: inMillis(every) }) } : policies;
}

/** What is left of the log with least left. */
function leftOf({ policies }: Decision): number {
  return Math.min(...policies.filter(({ name }) => name !== GAP).map(({ remaining }) => remaining));
}
