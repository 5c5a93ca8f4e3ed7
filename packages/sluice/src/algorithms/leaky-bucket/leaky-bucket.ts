/**
 * The leaky bucket as a meter. It empties in drips at regular intervals. The first interval begins with the request that found the
 * bucket empty. Cells: level (units), since (the last drip, or the request that found the bucket empty).
 */
import {
  type Algorithm,
  type Cells,
  TIME_EPSILON,
  isFarAhead,
  type Millis,
  type Policy,
} from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { atLeastOne, checkOptionNames, positive } from '../../internal/options.ts';
import type { RatedEntry } from '../entry.ts';

export interface LeakyBucketOptions {
  /** Number of units that the bucket holds, which is the maximum that is allowed simultaneously. At least 1. */
  readonly size: number;
  /** Number of units that leave the bucket with each drip. Default 1. */
  readonly dripSize?: number | undefined;
  /** Time between two drips. Default one second. */
  readonly dripRate?: Duration | undefined;
}

export type LeakyBucketParams = {
  readonly size: number;
  readonly dripSize: number;
  readonly dripRate: Millis;
};

export const leakyBucketAlgorithm: Algorithm<LeakyBucketParams> = {
  name: 'leaky-bucket',
  width: () => 2,
  available: (p, row, at, now) => p.size - level(p, row, at, dripsBy(p, row, at, now)),
  waitFor(p, row, at, now, cost) {
    if (cost > p.size) return Infinity;
    const passed = dripsBy(p, row, at, now);
    const over = level(p, row, at, passed) + cost - p.size;
    if (over <= 0) return 0;
    const drips = dripsUntil(p, row, at, passed + Math.ceil(over / p.dripSize), cost);
    return row[at + 1] + drips * p.dripRate - now;
  },
  take(p, row, at, now, cost) {
    drain(p, row, at, now);
    row[at] += cost;
  },
  give(p, row, at, now, cost) {
    drain(p, row, at, now);
    row[at] = Math.max(0, row[at] - cost);
  },
  clearIn(p, row, at, now) {
    const passed = dripsBy(p, row, at, now);
    return clearAfter(p, row, at, now, passed, level(p, row, at, passed));
  },
  attempt(p, row, at, now, cost, out) {
    const wait = leakyBucketAlgorithm.waitFor(p, row, at, now, cost);
    if (wait === 0) {
      drain(p, row, at, now);
      row[at] += cost;
    }
    const passed = dripsBy(p, row, at, now);
    const full = level(p, row, at, passed);
    out[0] = p.size - full;
    out[1] = clearAfter(p, row, at, now, passed, full);
    return wait;
  },
  // If each drip is one unit, the next drip always makes one more unit available, even after fractional costs.
  refill: (p, limit, window) =>
    p.dripSize === 1 && Number.isInteger(p.size) && limit === p.size && window === p.size * p.dripRate
      ? 'even'
      : undefined,
  booking: {
    overdraft(p, row, at, now, cost, span) {
      const back = Math.floor((span + TIME_EPSILON) / p.dripRate) * p.dripSize;
      return Math.min(cost, Math.max(0, p.size - 1 + back - level(p, row, at, dripsBy(p, row, at, now))));
    },
  },
  inherit: { cells: [0], full: (p) => p.size },
  lease: {
    reduced: (p, span) =>
      steppedRefill(Math.floor(p.size - (leak(p, span) + p.dripSize) / 2), p.dripSize, p.dripRate),
    leak,
  },
};

/**
 * Number of drips since the row was written. Infinity if only a wrong clock can have written the row, so that the bucket counts
 * as empty.
 */
function dripsBy(p: LeakyBucketParams, row: Cells, at: number, now: Millis): number {
  if (row[at + 1] > now && isFarAhead(row[at + 1], now, windowOf(p.size, p.dripSize, p.dripRate)))
    return Infinity;
  return Math.max(0, Math.floor((now + TIME_EPSILON - row[at + 1]) / p.dripRate));
}

function level(p: LeakyBucketParams, row: Cells, at: number, passed: number): number {
  return Math.max(0, row[at] - passed * p.dripSize);
}

/**
 * How long until the bucket is empty. `passed` is the number of drips since the row was written, and `full` is the level after
 * these drips.
 */
function clearAfter(
  p: LeakyBucketParams,
  row: Cells,
  at: number,
  now: Millis,
  passed: number,
  full: number,
): Millis {
  if (full === 0) return 0;
  // With fractional costs, float error can make the quotient slightly too small, so that `ceil` returns one drip too few. The row
  // would then be dropped too early.
  let drips = passed + Math.ceil(full / p.dripSize);
  if (row[at] - drips * p.dripSize > 0) drips += 1;
  return row[at + 1] + drips * p.dripRate - now;
}

/**
 * The number of drips after which the cost fits, given an estimate. With fractional costs, float error can make the estimate wrong
 * by one drip, so the function corrects the estimate with the same comparison that a check makes at that drip.
 */
function dripsUntil(p: LeakyBucketParams, row: Cells, at: number, estimate: number, cost: number): number {
  if (level(p, row, at, estimate) + cost - p.size > 0) return estimate + 1;
  return level(p, row, at, estimate - 1) + cost - p.size > 0 ? estimate : estimate - 1;
}

function drain(p: LeakyBucketParams, row: Cells, at: number, now: Millis): void {
  const passed = dripsBy(p, row, at, now);
  row[at] = level(p, row, at, passed);
  if (passed === Infinity) row[at + 1] = now;
  else row[at + 1] = row[at] === 0 ? Math.max(now, row[at + 1]) : row[at + 1] + passed * p.dripRate;
}

/** The maximum number of units that drips can return during `span`. */
function leak({ dripSize, dripRate }: LeakyBucketParams, span: Millis): number {
  return Math.ceil(span / dripRate) * dripSize;
}

/**
 * Limits the rate with a leaky bucket. Each take fills the bucket, which empties in drips. The bucket counts requests and does not
 * queue them.
 */
export function leakyBucket(options: LeakyBucketOptions): Policy {
  const {
    size,
    dripSize = 1,
    dripRate = 1000,
  } = checkOptionNames('leakyBucket', options, ['size', 'dripSize', 'dripRate']);
  return steppedRefill(
    atLeastOne('leakyBucket.size', size),
    positive('leakyBucket.dripSize', dripSize),
    duration('leakyBucket.dripRate', dripRate),
  );
}

/** Creates a policy in which `dripSize` units come back every `dripRate`, up to `size`. */
export function steppedRefill(size: number, dripSize: number, dripRate: Millis): Policy {
  const params: LeakyBucketParams = { size, dripSize, dripRate };
  return {
    algorithm: leakyBucketAlgorithm,
    params,
    limit: size,
    window: windowOf(size, dripSize, dripRate),
  };
}

function windowOf(size: number, dripSize: number, dripRate: Millis): Millis {
  return Math.ceil(size / dripSize) * dripRate;
}

export const leakyBucketEntry: RatedEntry = {
  factory: leakyBucket,
  algorithms: [leakyBucketAlgorithm],
  text: {
    burst: true,
    policy: ({ limit, millis, burst }) =>
      leakyBucket({ size: burst ?? Math.max(1, limit), dripRate: millis / limit }),
  },
};
