/**
 * Generic cell rate: a level that drains evenly, one unit per interval. Equal to the theoretical arrival time,
 * tat = since + level · interval, but kept in units: adding an interval to an epoch millisecond again and again
 * would round the same way each time, 2.4 % at a million a second.
 *
 * Cells: level (units), since (when the level was true).
 */
import { type Algorithm, type Cells, FORGIVEN, type Millis, type Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { known, positive } from '../../options.ts';

export interface GcraOptions {
  /** Units per `per`, sustained. */
  readonly limit: number;
  readonly per: Duration;
  /** The most that passes at once; default: limit. */
  readonly burst?: number | undefined;
}

export type GcraParams = {
  /** Milliseconds in which one unit drains. */
  readonly interval: Millis;
  readonly burst: number;
};

export const gcraAlgorithm: Algorithm<GcraParams> = {
  name: 'gcra',
  bookable: true,
  width: () => 2,
  available: (p, row, at, now) => p.burst - level(p, row, at, now) + FORGIVEN / p.interval,
  waitFor(p, row, at, now, cost) {
    if (cost > p.burst) return Infinity;
    const over = level(p, row, at, now) + cost - p.burst;
    if (over * p.interval <= FORGIVEN) return 0;
    return over * p.interval + Math.max(0, row[at + 1] - now);
  },
  take(p, row, at, now, cost) {
    row[at] = level(p, row, at, now) + cost;
    row[at + 1] = Math.max(now, row[at + 1]);
  },
  give(p, row, at, now, cost) {
    row[at] = Math.max(0, level(p, row, at, now) - cost);
    row[at + 1] = Math.max(now, row[at + 1]);
  },
  clearIn(p, row, at, now) {
    const full = level(p, row, at, now);
    return full === 0 ? 0 : full * p.interval + Math.max(0, row[at + 1] - now);
  },
};

function level(p: GcraParams, row: Cells, at: number, now: Millis): number {
  return Math.max(0, row[at] - Math.max(0, now - row[at + 1]) / p.interval);
}

/** The default: an even rate with a burst. */
export function gcra(options: GcraOptions): Policy {
  const { limit, per, burst } = known('gcra', options, ['limit', 'per', 'burst']);
  const interval = duration('gcra.per', per) / positive('gcra.limit', limit);
  return evenly(interval, burst === undefined ? limit : positive('gcra.burst', burst));
}

/** One unit per interval, `burst` at once. */
export function evenly(interval: Millis, burst: number): Policy {
  return { algorithm: gcraAlgorithm, params: { interval, burst }, limit: burst, window: interval * burst };
}
