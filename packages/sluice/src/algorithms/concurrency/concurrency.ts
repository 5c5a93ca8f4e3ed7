/**
 * How many at once: a sliding log of leases. What was taken comes back by `release` or `refund`, or when its lease ends.
 * A release frees the oldest lease: whichever holder it was, no lease that is left ends too early.
 */
import type { Algorithm, Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { known, whole } from '../../options.ts';
import { slidingLogAlgorithm, type SlidingLogParams } from '../sliding-log/sliding-log.ts';

export interface ConcurrencyOptions {
  /** In flight at once. */
  readonly limit: number;
  /** After this long a holder counts as lost, and its place is free again. */
  readonly lease: Duration;
}

export const concurrencyAlgorithm: Algorithm<SlidingLogParams> = {
  ...slidingLogAlgorithm,
  name: 'concurrency',
  holds: true,
  lease: undefined,
};

/** At most so many at once: a place is held until it is released, or until its lease ends. */
export function concurrency(options: ConcurrencyOptions): Policy {
  const { limit, lease } = known('concurrency', options, ['limit', 'lease']);
  const params: SlidingLogParams = {
    limit: whole('concurrency.limit', limit),
    per: duration('concurrency.lease', lease),
    step: 0,
    entries: limit + 1,
  };
  return { algorithm: concurrencyAlgorithm, params, limit, window: params.per };
}
