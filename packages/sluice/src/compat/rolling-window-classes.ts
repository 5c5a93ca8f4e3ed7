/** classdojo's rolling-rate-limiter, version 0.4: every attempt counts, blocked ones too. */
import { createLimiter, type Decision, type Millis, slidingLog, SluiceError } from '../index.ts';
import { known, notNegative, positive } from '../options.ts';
import type { AnyLimiter } from './limiters.ts';
import { GAP, leftOf, policiesOf } from './rolling-log.ts';
import { wholeUnits } from './rounding.ts';
import { storeOf, type StoreOptions } from './store-of.ts';

export interface RateLimiterOptions extends StoreOptions {
  readonly interval: Millis;
  readonly maxInInterval: number;
  /** The least time between two attempts; default 0. */
  readonly minDifference?: Millis | undefined;
}

export interface RedisRateLimiterOptions extends RateLimiterOptions {
  /** Of ioredis, iovalkey, node-redis or valkey-glide. May be left out where there is a `store`. */
  readonly client?: object | undefined;
  /** Keeps this limiter's keys apart. */
  readonly namespace: string;
}

export interface RateLimitInfo {
  readonly blocked: boolean;
  readonly blockedDueToCount: boolean;
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
    positive('options.maxInInterval', maxInInterval);
    notNegative('options.minDifference', minDifference);
    const log = slidingLog({ limit: maxInInterval, per: interval });
    this.#limiter = createLimiter(policiesOf([log], [minDifference]), {
      store: storeOf(options, client),
      name,
    });
  }

  /** An attempt: true when it is blocked. */
  async limit(id: number | string): Promise<boolean> {
    return !(await this.#limiter.take(String(id), { mode: 'always' })).allowed;
  }

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
    known('options', options, OPTIONS);
    super(options);
  }
}

/** State shared by all that have the same `namespace` in the same Redis. */
export class RedisRateLimiter extends RollingRateLimiter {
  constructor(options: RedisRateLimiterOptions) {
    known('options', options, [...OPTIONS, 'client', 'namespace']);
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
