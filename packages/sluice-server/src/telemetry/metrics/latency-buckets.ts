/**
 * Counts durations in buckets. Counts only grow, so subtracting an earlier copy from a later one gives the durations recorded
 * between them. There are eight buckets per power of two, so a quantile is at most 13 % too high.
 */
import type { Millis } from 'sluice';

export interface Quantiles {
  readonly p50: Millis;
  readonly p99: Millis;
  readonly max: Millis;
}

/** Durations are counted in units of 1/4096 ms. Below eight of these units, each unit has its own bucket. */
const UNITS = 4096;
const MAX_UNITS = 2 ** 31 - 1;
const BUCKETS = 232;

export class LatencyBuckets {
  private readonly counts = new Float64Array(BUCKETS);

  observe(took: Millis, times = 1): void {
    this.counts[bucketOf(Math.min(MAX_UNITS, took * UNITS) | 0)] += times;
  }

  copy(): Float64Array {
    return this.counts.slice();
  }
}

function bucketOf(units: number): number {
  if (units < 8) return Math.max(0, units);
  const power = 31 - Math.clz32(units);
  return (power - 2) * 8 + ((units >>> (power - 3)) & 7);
}

/** Exclusive upper bound of a bucket. */
function endOf(bucket: number): Millis {
  if (bucket < 8) return (bucket + 1) / UNITS;
  const power = (bucket >> 3) + 2;
  return ((9 + (bucket & 7)) * 2 ** (power - 3)) / UNITS;
}

/** Quantiles of the durations counted between two copies. Undefined if no duration was counted. */
export function quantilesBetween(before: Float64Array, now: Float64Array): Quantiles | undefined {
  let total = 0;
  for (let i = 0; i < BUCKETS; i++) total += now[i] - before[i];
  if (total === 0) return undefined;
  const reached = (share: number): Millis => {
    let bucket = -1;
    for (let left = Math.ceil(total * share); left > 0; left -= now[bucket] - before[bucket]) bucket++;
    return endOf(bucket);
  };
  return { p50: reached(0.5), p99: reached(0.99), max: reached(1) };
}
