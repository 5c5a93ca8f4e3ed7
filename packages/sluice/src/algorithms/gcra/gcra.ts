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
  /** 1 / interval: a division would be most of a check. */
  readonly rate: number;
  /** What drains in the time forgiven. */
  readonly slack: number;
};

export const gcraAlgorithm: Algorithm<GcraParams> = {
  name: 'gcra',
  bookable: true,
  width: () => 2,
  available: (p, row, at, now) => p.burst - level(p, row, at, now) + p.slack,
  waitFor(p, row, at, now, cost) {
    if (cost > p.burst) return Infinity;
    const over = level(p, row, at, now) + cost - p.burst;
    return over <= p.slack ? 0 : over * p.interval + behind(row, at, now);
  },
  take(p, row, at, now, cost) {
    row[at] = level(p, row, at, now) + cost;
    if (now > row[at + 1]) row[at + 1] = now;
  },
  give(p, row, at, now, cost) {
    row[at] = Math.max(0, level(p, row, at, now) - cost);
    if (now > row[at + 1]) row[at + 1] = now;
  },
  clearIn(p, row, at, now) {
    const full = level(p, row, at, now);
    return full === 0 ? 0 : full * p.interval + behind(row, at, now);
  },
};

function level(p: GcraParams, row: Cells, at: number, now: Millis): number {
  if (now <= row[at + 1]) return row[at];
  const left = row[at] - (now - row[at + 1]) * p.rate;
  return left > 0 ? left : 0;
}

/** How far the clock has gone back behind what was written. */
function behind(row: Cells, at: number, now: Millis): Millis {
  return row[at + 1] > now ? row[at + 1] - now : 0;
}

/** The default: an even rate with a burst. */
export function gcra(options: GcraOptions): Policy {
  const { limit, per, burst } = known('gcra', options, ['limit', 'per', 'burst']);
  const interval = duration('gcra.per', per) / positive('gcra.limit', limit);
  return evenly(interval, burst === undefined ? limit : positive('gcra.burst', burst));
}

/** One unit per interval, `burst` at once. */
export function evenly(interval: Millis, burst: number): Policy {
  const params: GcraParams = { interval, burst, rate: 1 / interval, slack: FORGIVEN / interval };
  return { algorithm: gcraAlgorithm, params, limit: burst, window: interval * burst };
}
