/**
 * The token bucket: what is missing from a full bucket is the level of gcra (continuous refill)
 * or of a leaky bucket (stepped refill), so it needs no algorithm of its own.
 */
import type { Policy } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { atLeastOne, checkOptionNames, oneOf, positive } from '../../internal/options.ts';
import { evenly } from '../gcra/gcra.ts';
import { steps } from '../leaky-bucket/leaky-bucket.ts';

export interface TokenBucketOptions {
  /** Tokens that the bucket holds: the most that passes simultaneously, at least 1. */
  readonly capacity: number;
  /** Tokens that come back `every` so often. */
  readonly refill: number;
  /** How often `refill` tokens come back. */
  readonly every: Duration;
  /** true (default): tokens trickle in evenly. false: all `refill` tokens at once, at the end of each `every`. */
  readonly continuous?: boolean | undefined;
}

/** Tokens that come back, evenly or in steps, up to what the bucket holds. */
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
  return { ...(continuous ? evenly(span / refill, capacity) : steps(capacity, refill, span)), per: span };
}
