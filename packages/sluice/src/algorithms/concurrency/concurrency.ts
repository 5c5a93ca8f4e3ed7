/**
 * Limits how many callers hold a place at the same time, with a sliding log of leases. A place is freed by `release` or `refund`,
 * or when its lease ends. Each place is identified by the instant at which it was taken, so its holder can release or renew exactly
 * that place. A release that does not identify a place frees the oldest one, so that no other holder's place expires too early.
 */
import type { Algorithm, Policy } from '../../engine/contract.ts';
import { type Duration, duration } from '../../internal/duration.ts';
import { checkOptionNames, whole } from '../../internal/options.ts';
import {
  FEWEST_ENTRIES,
  newestTime,
  slidingLogAlgorithm,
  type SlidingLogParams,
} from '../sliding-log/sliding-log.ts';
import type { AlgorithmEntry } from '../entry.ts';

export interface ConcurrencyOptions {
  /** The maximum number of places that are held at the same time. */
  readonly limit: number;
  /** If a holder does not renew its place for this long, the holder counts as lost, and its place becomes free. */
  readonly lease: Duration;
}

const concurrencyAlgorithm: Algorithm<SlidingLogParams> = {
  ...slidingLogAlgorithm,
  name: 'concurrency',
  lease: undefined,
  hold: { takenAt: (_, row, at) => newestTime(row, at) },
};

/**
 * Limits how many callers run at the same time. Each caller holds a place until it releases the place, or until its lease ends.
 */
export function concurrency(options: ConcurrencyOptions): Policy {
  const { limit, lease } = checkOptionNames('concurrency', options, ['limit', 'lease']);
  const params: SlidingLogParams = {
    limit: whole('concurrency.limit', limit),
    per: duration('concurrency.lease', lease),
    step: 0,
    // There is an entry for each place, because merged entries could not be released separately.
    entries: Math.max(limit + 1, FEWEST_ENTRIES),
  };
  return { algorithm: concurrencyAlgorithm, params, limit, window: params.per };
}

export const concurrencyEntry: AlgorithmEntry = { factory: concurrency, algorithms: [concurrencyAlgorithm] };
