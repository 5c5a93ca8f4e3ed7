/**
 * Enforces a minimum time between two actions, whatever they cost.
 *
 * Cells: next (the earliest instant at which the next action is allowed).
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
import { checkOptionNames } from '../../internal/options.ts';
import type { AlgorithmEntry } from '../entry.ts';

export interface MinIntervalOptions {
  /** The minimum time between two actions. */
  readonly every: Duration;
}

export type MinIntervalParams = { readonly every: Millis };

const minIntervalAlgorithm: Algorithm<MinIntervalParams> = {
  name: 'min-interval',
  width: () => 1,
  available: (p, row, at, now) => (left(p, row, at, now) > 0 ? 0 : Infinity),
  waitFor: left,
  take(p, row, at, now) {
    row[at] = left(p, row, at, now) > 0 ? Math.max(row[at], now + p.every) : now + p.every;
  },
  /** Undoes the last action, so that the next action is allowed immediately. Does nothing if `takenAt` is an earlier action. */
  give(p, row, at, now, _cost, takenAt) {
    if (takenAt !== undefined && row[at] - takenAt - p.every > TIME_EPSILON) return;
    row[at] = Math.min(row[at], now);
  },
  clearIn: left,
  attempt(p, row, at, now, _cost, out) {
    const wait = left(p, row, at, now);
    if (wait === 0) row[at] = now + p.every;
    const clear = wait === 0 ? left(p, row, at, now) : wait;
    out[0] = clear > 0 ? 0 : Infinity;
    out[1] = clear;
    return wait;
  },
  refill: () => 'whole',
};

/** The wait until the next action. 0 if only a wrong clock can have written the row. */
function left(p: MinIntervalParams, row: Cells, at: number, now: Millis): Millis {
  const wait = row[at] - now;
  return wait > TIME_EPSILON && !isFarAhead(row[at] - p.every, now, p.every) ? wait : 0;
}

/** Enforces a minimum time between two actions, whatever they cost. */
export function minInterval(options: MinIntervalOptions): Policy {
  const { every } = checkOptionNames('minInterval', options, ['every']);
  const params: MinIntervalParams = { every: duration('minInterval.every', every) };
  return { algorithm: minIntervalAlgorithm, params, limit: 1, window: params.every };
}

export const minIntervalEntry: AlgorithmEntry = { factory: minInterval, algorithms: [minIntervalAlgorithm] };
