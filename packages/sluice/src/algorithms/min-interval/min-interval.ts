/**
 * The least time between two actions, whatever they cost.
 *
 * Cells: next (the instant from which the next action passes).
 */
import { type Algorithm, FORGIVEN, type Millis, type Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { known } from '../../options.ts';

export interface MinIntervalOptions {
  /** The least time between two actions. */
  readonly every: Duration;
}

export type MinIntervalParams = { readonly every: Millis };

export const minIntervalAlgorithm: Algorithm<MinIntervalParams> = {
  name: 'min-interval',
  width: () => 1,
  available: (_, row, at, now) => (row[at] - now > FORGIVEN ? 0 : Infinity),
  waitFor(_, row, at, now) {
    const wait = row[at] - now;
    return wait > FORGIVEN ? wait : 0;
  },
  take(p, row, at, now) {
    row[at] = Math.max(row[at], now + p.every);
  },
  /** The last action is undone. */
  give(_, row, at, now) {
    row[at] = Math.min(row[at], now);
  },
  clearIn(_, row, at, now) {
    const wait = row[at] - now;
    return wait > FORGIVEN ? wait : 0;
  },
  refill: () => 'whole',
};

/** The least time between two actions. */
export function minInterval(options: MinIntervalOptions): Policy {
  const { every } = known('minInterval', options, ['every']);
  const params: MinIntervalParams = { every: duration('minInterval.every', every) };
  return { algorithm: minIntervalAlgorithm, params, limit: 1, window: params.every };
}
