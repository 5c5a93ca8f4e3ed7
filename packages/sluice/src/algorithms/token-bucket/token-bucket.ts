/**
 * The token bucket needs no algorithm of its own. The number of tokens that are missing from the bucket corresponds to the debt
 * of gcra (continuous refill) or to the level of a leaky bucket (stepped refill).
 */
import type { Policy } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { atLeastOne, checkOptionNames, oneOf, positive } from '../../internal/options.ts';
import { continuousRefill, gcraAlgorithm } from '../gcra/gcra.ts';
import { leakyBucketAlgorithm, steppedRefill } from '../leaky-bucket/leaky-bucket.ts';
import type { RatedEntry } from '../entry.ts';

export interface TokenBucketOptions {
  /** Number of tokens that the bucket holds, which is the maximum that is allowed simultaneously. At least 1. */
  readonly capacity: number;
  /** The number of tokens that come back in each interval of length `every`. */
  readonly refill: number;
  /** How often `refill` tokens come back. */
  readonly every: Duration;
  /**
   * If true (default), tokens come back one by one. If false, all `refill` tokens come back together, at the end of each
   * interval.
   */
  readonly continuous?: boolean | undefined;
}

/** Limits with a bucket whose tokens come back continuously or in steps, up to its capacity. */
export function tokenBucket(options: TokenBucketOptions): Policy {
  const {
    capacity,
    refill,
    every,
    continuous = true,
  } = checkOptionNames('tokenBucket', options, ['capacity', 'refill', 'every', 'continuous']);
  atLeastOne('tokenBucket.capacity', capacity);
  positive('tokenBucket.refill', refill);
  const span = duration('tokenBucket.every', every);
  oneOf('tokenBucket.continuous', String(continuous), ['true', 'false']);
  return {
    ...(continuous ? continuousRefill(span / refill, capacity) : steppedRefill(capacity, refill, span)),
    per: span,
  };
}

export const tokenBucketEntry: RatedEntry = {
  factory: tokenBucket,
  algorithms: [gcraAlgorithm, leakyBucketAlgorithm],
  text: {
    burst: true,
    policy: ({ limit, per, burst }) =>
      tokenBucket({ capacity: burst ?? Math.max(1, limit), refill: limit, every: per }),
  },
};
