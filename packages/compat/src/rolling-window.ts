/**
 * Drop-ins for RisingStack's rate-limiter and classdojo's rolling-rate-limiter, which allow at most N actions in any interval.
 * This file contains the factory of rate-limiter, then the classes of rolling-rate-limiter, then shared code. Durations are in
 * milliseconds, except `wait`.
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
export type { StoreOptions } from './shared/store-of.ts';
export type { RollingRateLimiter };

/** A limit on the actions in any interval of a given length. */
export interface RollingLimit {
  /** The length of the interval in milliseconds. */
  readonly interval: Millis;
  /** The maximum number of actions in any interval. */
  readonly maxInInterval: number;
  /** The minimum number of milliseconds between two actions. Default 0. */
  readonly minDifference?: Millis | undefined;
  /**
   * The maximum number of entries per key. Default 10,000. If `maxInInterval` is higher than this and higher than 1,000,
   * the interval is divided into this many sub-windows, and the limit is no longer exact.
   */
  readonly buckets?: number | undefined;
}

/** The options that do not belong to a single limit. */
export interface RollingOptions extends StoreOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Default: the memory of this process. */
  readonly redis?: object | undefined;
  /**
   * 'binary' (default) counts all actions of a call or none, 'nary' counts as many of them as the limit allows, and 'uniform'
   * counts all of them, even beyond the limit.
   */
  readonly mode?: 'nary' | 'binary' | 'uniform' | undefined;
  /** Limiters with the same namespace share keys. Default: derived from the limits and the mode. */
  readonly namespace?: string | undefined;
}

/** Options of `rateLimiterFactory`: one limit, or several that must all allow an action. */
export type RateLimiterFactoryOptions = RollingOptions &
  (RollingLimit | { readonly limits: readonly RollingLimit[] | { readonly [index: string]: RollingLimit } });

/** The result of a call. */
export interface RollingResult {
  /** How many of the `n` actions were counted: all, none, or some in mode 'nary'. */
  readonly acknowledged: number;
  /** Same as `acknowledged`, under its name in version 1.0.4. */
  readonly actionsRecorded: number;
  /** Actions left under the strictest limit. Below 0 only in mode 'uniform'. */
  readonly actionsRemaining: number;
  /** Microseconds until `n` actions would pass. 0 if they would pass now, Infinity if they never will. */
  readonly wait: number;
}

/**
 * A limiter, which is a function with the arguments `(id?, n?, callback?)`. If the first argument is a number and no other number
 * follows, that number is `n`. Returns a promise if there is no callback.
 */
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
/** A sliding log of at most this many entries is exact, whatever `buckets` is. An entry has 16 bytes. */
const SHORT = 1000;

/** Creates a limiter. If a callback is given, the callback also receives the limiter, as in older versions. */
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
    // Both hits are sent in the same tick, in one batch. If another call is counted between them, only `wait` is affected.
    const [decision, again] = await Promise.all([
      limiter.take(id, { cost: n, mode: MODES[mode] }),
      limiter.peek(id, n + raised),
    ]);
    return {
      acknowledged: decision.taken,
      actionsRecorded: decision.taken,
      actionsRemaining: leftOf(decision) - raised,
      // The store tolerates half a microsecond when it compares instants, so a rounded wait is never too short.
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
    if (all.length === 0)
      throw new SluiceError('ERR_OPTIONS', 'options.limits', limits, '', 'must contain at least one limit');
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

/* The classes of classdojo's rolling-rate-limiter, version 0.4, in which every attempt is counted, including blocked ones. */

/** Options of `InMemoryRateLimiter`. */
export interface RateLimiterOptions extends StoreOptions {
  /** The length of the interval in milliseconds. */
  readonly interval: Millis;
  /** The maximum number of attempts in any interval. */
  readonly maxInInterval: number;
  /** The minimum number of milliseconds between two attempts. Default 0. */
  readonly minDifference?: Millis | undefined;
}

/** Options of `RedisRateLimiter`. */
export interface RedisRateLimiterOptions extends RateLimiterOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Not required with `store`. */
  readonly client?: object | undefined;
  /** Separates this limiter's keys from other keys in the same Redis. */
  readonly namespace: string;
}

/** The result of an attempt. */
export interface RateLimitInfo {
  /** Whether the attempt is denied. */
  readonly blocked: boolean;
  /** Whether the attempt is denied because there were too many attempts in the interval. */
  readonly blockedDueToCount: boolean;
  /** Whether the attempt is denied because it came too soon after the previous one. */
  readonly blockedDueToMinDifference: boolean;
  /** Milliseconds until an attempt passes, rounded up, if no other attempt is made in the meantime. */
  readonly millisecondsUntilAllowed: Millis;
  /** Attempts left in the interval after this one, regardless of `minDifference`. */
  readonly actionsRemaining: number;
}

const OPTIONS = ['interval', 'maxInInterval', 'minDifference', 'store', 'clock'] as const;

/** The base class of both limiters. */
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

  /** Makes an attempt. Resolves with true if it is blocked. */
  async limit(id: number | string): Promise<boolean> {
    return !(await this.#limiter.take(String(id), { mode: 'always' })).allowed;
  }

  /** Makes an attempt. Resolves with the result and its reasons. */
  async limitWithInfo(id: number | string): Promise<RateLimitInfo> {
    const key = String(id);
    // All three hits are sent in the same tick, in one batch. If another call is counted between them, only the reasons and the
    // wait are affected.
    const [before, attempt, after] = await Promise.all([
      this.#limiter.peek(key),
      this.#limiter.take(key, { mode: 'always' }),
      this.#limiter.peek(key),
    ]);
    return infoOf(!attempt.allowed, before, after, leftOf(attempt));
  }

  /** Resolves with true if an attempt would be blocked. Counts nothing. */
  async wouldLimit(id: number | string): Promise<boolean> {
    return !(await this.#limiter.peek(String(id))).allowed;
  }

  /** Resolves with the result that an attempt would have. Counts nothing. */
  async wouldLimitWithInfo(id: number | string): Promise<RateLimitInfo> {
    const now = await this.#limiter.peek(String(id));
    return infoOf(!now.allowed, now, now, Math.max(0, leftOf(now) - 1));
  }

  /** Clears all attempts of this id. */
  async clear(id: number | string): Promise<void> {
    await this.#limiter.reset(String(id));
  }
}

/** A limiter with its own state in this process, or in a given `store`. */
export class InMemoryRateLimiter extends RollingRateLimiter {
  constructor(options: RateLimiterOptions) {
    checkOptionNames('options', options, OPTIONS);
    super(options);
  }
}

/** A limiter that shares its state with all limiters of the same `namespace` in the same Redis. */
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
    // If the peek found no reason for the block, another call used the last action between the peek and the take.
    blockedDueToCount: blocked && (!tooSoon || waits.length > 1),
    blockedDueToMinDifference: tooSoon,
    millisecondsUntilAllowed: wholeUnits(after.retryAfter),
    actionsRemaining: left,
  };
}

/** The name of a limiter that has no namespace. */
function nameOf(limits: readonly RollingLimit[], mode = 'classic'): string {
  const numbers = limits.map((limit) => LIMIT.map((option) => limit[option] ?? '').join(':'));
  return `rolling-window ${mode} ${numbers.join('&')}`;
}

/* Code that both drop-ins share: sliding logs and a minimum gap in one row, and a log that keeps counting beyond its limit. */

/**
 * How far a log may count beyond its limit. The log's own limit is raised by this amount, so that `remaining` also shows by how
 * much the intended limit is exceeded. To check whether a cost fits the intended limit, the cost is raised by the same amount.
 */
const ABOVE = 2 ** 40;

/**
 * Changes a log so that it counts every attempt and denies none. At least `entries` attempts have their own entry. If there are
 * more attempts than both `entries` and the limit, the oldest attempts are merged, which affects only the reported number of
 * attempts beyond the limit.
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

/** The sliding logs, and a policy for the longest of the minimum gaps between two actions. */
function policiesOf(logs: readonly Policy[], gaps: readonly number[]): Record<string, Policy> {
  const policies = Object.fromEntries(logs.map((log, index) => [`log ${index}`, log]));
  const every = Math.max(...gaps);
  return every > 0 ? { ...policies, [GAP]: minInterval({ every: inMillis(every) }) } : policies;
}

/** Actions left under the strictest log. */
function leftOf({ policies }: Decision): number {
  return Math.min(...policies.filter(({ name }) => name !== GAP).map(({ remaining }) => remaining));
}
