/** The names and shapes of rate-limiter-flexible: its options, and what it answers. */
import type { Millis } from 'sluice';
import type { GivenClock } from 'sluice/store';
import type { StoreOptions } from './store-of.ts';

/** Points belong to a string, or to a number read as one. */
export type Key = string | number;

/** What limiters are asked for when they are combined; those of rate-limiter-flexible itself have it, too. */
export interface RateLimiterLike {
  /** What its keys begin with; names it in a union. */
  readonly keyPrefix: string;
  /** So many may be consumed in the duration. */
  readonly points?: number | undefined;
  /** Resolves if it fits, rejects with a RateLimiterRes if not. */
  consume(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  /** Adds points; never rejects because there are too many. */
  penalty(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  /** Takes points off. */
  reward(key: Key, points?: number): Promise<RateLimiterRes>;
  /** Refuses the key for so many seconds; 0: for ever. */
  block(key: Key, secDuration: number): Promise<RateLimiterRes>;
  /** Replaces the consumed points, which expire after `secDuration` seconds; 0: never. */
  set(key: Key, points: number, secDuration: number): Promise<RateLimiterRes>;
  /** null when nothing is consumed. */
  get(key: Key): Promise<RateLimiterRes | null>;
  /** Whether there was something to forget. */
  delete(key: Key): Promise<boolean>;
}

export interface ConsumeOptions {
  /** Seconds, in place of `duration`, if this call is the first of its window. */
  readonly customDuration?: number | undefined;
}

/** What there is of a key. */
export class RateLimiterRes {
  /** Until its points are forgotten; −1: never. */
  readonly msBeforeNext: Millis;
  /** That may still be consumed. */
  readonly remainingPoints: number;
  /** May be above the limit: refused points are counted, too. */
  readonly consumedPoints: number;
  /** Whether this call opened the window. */
  readonly isFirstInDuration: boolean;

  constructor(remainingPoints = 0, msBeforeNext = 0, consumedPoints = 0, isFirstInDuration = false) {
    this.msBeforeNext = msBeforeNext;
    this.remainingPoints = remainingPoints;
    this.consumedPoints = consumedPoints;
    this.isFirstInDuration = isFirstInDuration;
  }

  /** The four numbers as a plain object. */
  toJSON(): {
    remainingPoints: number;
    msBeforeNext: Millis;
    consumedPoints: number;
    isFirstInDuration: boolean;
  } {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = this;
    return { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration };
  }

  /** The same as JSON. */
  toString(): string {
    return JSON.stringify(this);
  }
}

export interface RateLimiterOptions extends StoreOptions {
  /** So many points may be consumed … */
  readonly points: number;
  /** … in so many seconds from the first; 0: ever. */
  readonly duration: number;
  /** Keeps the keys of limiters in one store apart; default 'rlflx'. */
  readonly keyPrefix?: string | undefined;
  /** Seconds for which a key is blocked when it consumes too much; default 0: until its duration ends. */
  readonly blockDuration?: number | undefined;
  /** Delays what passes, so that it is spread over the duration. */
  readonly execEvenly?: boolean | undefined;
  /** The least such delay; default: duration / points. */
  readonly execEvenlyMinDelayMs?: Millis | undefined;
  /** Asked in the place of a store that fails. */
  readonly insuranceLimiter?: RateLimiterLike | undefined;
}

/** What limiters on a server have in common. */
export interface RateLimiterStoreOptions extends RateLimiterOptions {
  /** A client of ioredis, iovalkey, node-redis, valkey-glide or Bun. Not with `store`. */
  readonly storeClient?: object | undefined;
  /** Once a key has consumed this many points, this process rejects it without asking the server. */
  readonly inMemoryBlockOnConsumed?: number | undefined;
  /** How many seconds this process rejects it; default: as long as the server would. */
  readonly inMemoryBlockDuration?: number | undefined;
}

export interface RateLimiterRedisOptions extends RateLimiterStoreOptions {
  /** Reject immediately while the client is not connected. */
  readonly rejectIfRedisNotReady?: boolean | undefined;
  /** Has no effect: every client is recognized. */
  readonly useRedisPackage?: boolean | undefined;
  /** Has no effect: every client is recognized. */
  readonly useRedis3AndLowerPackage?: boolean | undefined;
}

export interface RateLimiterValkeyOptions extends RateLimiterStoreOptions {
  /** Reject immediately while the client is not connected. */
  readonly rejectIfValkeyNotReady?: boolean | undefined;
}

export interface RateLimiterQueueOptions {
  /** Calls that may wait per key; one more is rejected. Default: no bound that anybody meets. */
  readonly maxQueueSize?: number | undefined;
  /** For tests: tells the time, and wakes those who wait. */
  readonly clock?: GivenClock | undefined;
}

/** What a RateLimiterRes holds, each number optional. */
export type IRateLimiterRes = Partial<
  Pick<RateLimiterRes, 'msBeforeNext' | 'remainingPoints' | 'consumedPoints' | 'isFirstInDuration'>
>;
