/** The options and results of rate-limiter-flexible. */
import type { Millis } from 'sluice';
import type { GivenClock } from 'sluice/store';
import type { StoreOptions } from './store-of.ts';

/** A key, which is a string or a number that is converted to a string. */
export type Key = string | number;

/** A limiter that can be combined with other limiters, such as a limiter of rate-limiter-flexible itself. */
export interface RateLimiterLike {
  /** The prefix of this limiter's keys, which names it in the results of a union. */
  readonly keyPrefix: string;
  /** The points that may be consumed within the duration. */
  readonly points?: number | undefined;
  /** Consumes points. Rejects with a `RateLimiterRes` if they exceed the limit. */
  consume(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  /** Adds points. Does not reject if they exceed the limit. */
  penalty(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  /** Subtracts points. */
  reward(key: Key, points?: number): Promise<RateLimiterRes>;
  /** Blocks the key for `secDuration` seconds. 0 means forever. */
  block(key: Key, secDuration: number): Promise<RateLimiterRes>;
  /** Sets the consumed points, which expire after `secDuration` seconds. 0 means that they never expire. */
  set(key: Key, points: number, secDuration: number): Promise<RateLimiterRes>;
  /** Resolves with the state of the key, or with null if no points are consumed. */
  get(key: Key): Promise<RateLimiterRes | null>;
  /** Deletes the state of the key. Resolves with true if the key had consumed points. */
  delete(key: Key): Promise<boolean>;
}

/** Options of a single call. */
export interface ConsumeOptions {
  /** Duration of the window in seconds, if this call opens it. Default `duration`. */
  readonly customDuration?: number | undefined;
}

/** The state of a key. */
export class RateLimiterRes {
  /** Milliseconds until the consumed points expire. −1 means never. */
  readonly msBeforeNext: Millis;
  /** Points that may still be consumed. */
  readonly remainingPoints: number;
  /** Consumed points. They include those of denied calls, so they may exceed the limit. */
  readonly consumedPoints: number;
  /** Whether this call opened the window. */
  readonly isFirstInDuration: boolean;

  constructor(remainingPoints = 0, msBeforeNext = 0, consumedPoints = 0, isFirstInDuration = false) {
    this.msBeforeNext = msBeforeNext;
    this.remainingPoints = remainingPoints;
    this.consumedPoints = consumedPoints;
    this.isFirstInDuration = isFirstInDuration;
  }

  /** Returns the four values as a plain object. */
  toJSON(): {
    remainingPoints: number;
    msBeforeNext: Millis;
    consumedPoints: number;
    isFirstInDuration: boolean;
  } {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = this;
    return { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration };
  }

  /** Returns the four values as JSON text. */
  toString(): string {
    return JSON.stringify(this);
  }
}

/** Options of `RateLimiterMemory`. */
export interface RateLimiterOptions extends StoreOptions {
  /** The points that may be consumed within the duration. */
  readonly points: number;
  /** All points expire this many seconds after the first of them was consumed. 0 means that they never expire. */
  readonly duration: number;
  /** Separates the keys of several limiters in one store. Default 'rlflx'. */
  readonly keyPrefix?: string | undefined;
  /**
   * Seconds for which a key that exceeds its points is blocked. With the default of 0, the key is blocked until its window ends.
   */
  readonly blockDuration?: number | undefined;
  /** Whether to delay allowed calls so that they are spread over the duration. */
  readonly execEvenly?: boolean | undefined;
  /** The minimum delay of `execEvenly` in milliseconds. Default: duration / points. */
  readonly execEvenlyMinDelayMs?: Millis | undefined;
  /** The limiter that decides while the store fails. */
  readonly insuranceLimiter?: RateLimiterLike | undefined;
}

/** Options of limiters on a server. */
export interface RateLimiterStoreOptions extends RateLimiterOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Not allowed with `store`. */
  readonly storeClient?: object | undefined;
  /** Once a key has consumed this many points, this process rejects it without asking the server. */
  readonly inMemoryBlockOnConsumed?: number | undefined;
  /** Seconds for which this process rejects a key that it has blocked. Default: as long as the server would reject it. */
  readonly inMemoryBlockDuration?: number | undefined;
}

/** Options of `RateLimiterRedis`. */
export interface RateLimiterRedisOptions extends RateLimiterStoreOptions {
  /** Whether to reject immediately while the client is not connected. */
  readonly rejectIfRedisNotReady?: boolean | undefined;
  /** Has no effect, because the library of the client is recognized automatically. */
  readonly useRedisPackage?: boolean | undefined;
  /** Has no effect, because the library of the client is recognized automatically. */
  readonly useRedis3AndLowerPackage?: boolean | undefined;
}

/** Options of `RateLimiterValkey`. */
export interface RateLimiterValkeyOptions extends RateLimiterStoreOptions {
  /** Whether to reject immediately while the client is not connected. */
  readonly rejectIfValkeyNotReady?: boolean | undefined;
}

/** Options of `RateLimiterQueue`. */
export interface RateLimiterQueueOptions {
  /** The maximum number of calls that may wait per key. Further calls are rejected. Default 4,294,967,295. */
  readonly maxQueueSize?: number | undefined;
  /** The clock, for tests. Default: the system clock. */
  readonly clock?: GivenClock | undefined;
}

/** The values of a `RateLimiterRes`, all optional. */
export type IRateLimiterRes = Partial<
  Pick<RateLimiterRes, 'msBeforeNext' | 'remainingPoints' | 'consumedPoints' | 'isFirstInDuration'>
>;
