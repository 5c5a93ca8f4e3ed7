/**
 * Estimates a sliding window from two counters. The older counter is weighted by the fraction of its window that the sliding
 * window still covers: estimate = previous · (1 − elapsed / per) + count.
 *
 * Cells: start (of the current window, a multiple of per), count, previous.
 */
import {
  type Algorithm,
  type Cells,
  TIME_EPSILON,
  isFarAhead,
  type Millis,
  type Policy,
} from '../../engine/contract.ts';
import { type Duration, windowOf } from '../../internal/duration.ts';
import { checkOptionNames, perWindow, positive } from '../../internal/options.ts';
import type { RatedEntry } from '../entry.ts';

export interface SlidingWindowOptions {
  /** The maximum number of units in a window, as estimated from two counters. At least 1. */
  readonly limit: number;
  /** The length of a window. */
  readonly per: Duration;
}

export type SlidingWindowParams = { readonly limit: number; readonly per: Millis };

const slidingWindowAlgorithm: Algorithm<SlidingWindowParams> = {
  name: 'sliding-window',
  width: () => 3,
  available(p, row, at, now) {
    const start = windowStart(p, row, at, now);
    return p.limit - estimate(p, now, start, count(p, row, at, start), previous(p, row, at, start));
  },
  waitFor(p, row, at, now, cost) {
    const start = windowStart(p, row, at, now);
    return waitIn(p, now, start, count(p, row, at, start), previous(p, row, at, start), cost);
  },
  take(p, row, at, now, cost) {
    roll(p, row, at, now);
    row[at + 1] += cost;
  },
  give(p, row, at, now, cost, takenAt) {
    roll(p, row, at, now);
    const age = takenAt === undefined ? 0 : row[at] - Math.floor((takenAt + TIME_EPSILON) / p.per) * p.per;
    if (takenAt !== undefined && age >= p.per * 0.5) {
      if (age < p.per * 1.5) row[at + 2] = Math.max(0, row[at + 2] - cost);
      return;
    }
    const fromOlder = takenAt === undefined ? Math.max(0, cost - row[at + 1]) : 0;
    row[at + 1] = Math.max(0, row[at + 1] - cost);
    row[at + 2] = Math.max(0, row[at + 2] - fromOlder);
  },
  clearIn(p, row, at, now) {
    const start = windowStart(p, row, at, now);
    return clearFrom(p, now, start, count(p, row, at, start), previous(p, row, at, start));
  },
  attempt(p, row, at, now, cost, out) {
    const start = windowStart(p, row, at, now);
    const older = previous(p, row, at, start);
    let counted = count(p, row, at, start);
    const wait = waitIn(p, now, start, counted, older, cost);
    if (wait === 0) {
      counted += cost;
      row[at] = start;
      row[at + 1] = counted;
      row[at + 2] = older;
    }
    out[0] = p.limit - estimate(p, now, start, counted, older);
    out[1] = clearFrom(p, now, start, counted, older);
    return wait;
  },
  inherit: { cells: [1, 2], full: (p) => p.limit },
  // After a debit, the row is fully replenished at the end of the next window. The units of the debit may be spent until the end of
  // the current window, which is `per` earlier.
  lease: { lasts: (p, resetAfter) => resetAfter - p.per },
};

/**
 * The start of the current window. It is never before the start in the row, unless only a wrong clock can have written that row.
 */
function windowStart(p: SlidingWindowParams, row: Cells, at: number, now: Millis): Millis {
  const start = Math.floor((now + TIME_EPSILON) / p.per) * p.per;
  return row[at] > start && !isFarAhead(row[at], now, p.per) ? row[at] : start;
}

// Starts are compared with a tolerance of half a window, because k · per + per and (k + 1) · per can be different floats.

function count(p: SlidingWindowParams, row: Cells, at: number, start: Millis): number {
  return row[at] <= start && start - row[at] < p.per * 0.5 ? row[at + 1] : 0;
}

function previous(p: SlidingWindowParams, row: Cells, at: number, start: Millis): number {
  if (row[at] > start) return 0;
  if (start - row[at] < p.per * 0.5) return row[at + 2];
  return start - row[at] < p.per * 1.5 ? row[at + 1] : 0;
}

function estimate(
  p: SlidingWindowParams,
  now: Millis,
  start: Millis,
  counted: number,
  older: number,
): number {
  const elapsed = Math.max(0, now + TIME_EPSILON - start);
  return older * (1 - elapsed / p.per) + counted;
}

/** How long until the cost fits into the window that starts at `start`, or into the next one. */
function waitIn(
  p: SlidingWindowParams,
  now: Millis,
  start: Millis,
  counted: number,
  older: number,
  cost: number,
): Millis {
  if (cost > p.limit) return Infinity;
  if (estimate(p, now, start, counted, older) + cost <= p.limit) return 0;
  const room = p.limit - cost;
  // During the current window, the previous counter loses weight. During the next window, the current counter
  // loses weight.
  if (counted <= room) return start + p.per * (1 - (room - counted) / older) - now;
  return start + p.per + p.per * (1 - room / counted) - now;
}

/** How long until neither counter has any weight left. */
function clearFrom(
  p: SlidingWindowParams,
  now: Millis,
  start: Millis,
  counted: number,
  older: number,
): Millis {
  if (counted > 0) return start + 2 * p.per - now;
  return older > 0 ? start + p.per - now : 0;
}

function roll(p: SlidingWindowParams, row: Cells, at: number, now: Millis): void {
  const start = windowStart(p, row, at, now);
  const older = previous(p, row, at, start);
  row[at + 1] = count(p, row, at, start);
  row[at + 2] = older;
  row[at] = start;
}

/**
 * Limits with a sliding window that is estimated from two counters. The older counter loses weight gradually, which avoids a jump
 * at the window's boundary.
 */
export function slidingWindow(options: SlidingWindowOptions): Policy {
  const { limit, per } = checkOptionNames('slidingWindow', options, ['limit', 'per']);
  positive('slidingWindow.limit', limit);
  const window = windowOf('slidingWindow.per', per);
  const params: SlidingWindowParams = { limit: perWindow('slidingWindow.limit', limit, window), per: window };
  return { algorithm: slidingWindowAlgorithm, params, limit, window };
}

export const slidingWindowEntry: RatedEntry = {
  factory: slidingWindow,
  algorithms: [slidingWindowAlgorithm],
  text: { burst: false, policy: ({ limit, per }) => slidingWindow({ limit, per }) },
};
