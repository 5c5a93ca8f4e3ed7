/**
 * The generic cell rate algorithm. Each unit adds one interval to the debt, which is paid off as time passes. The theoretical
 * arrival time is tat = since + debt. `since` and `debt` are stored separately, because repeatedly adding an interval to epoch
 * milliseconds would round the sum in the same direction each time. The rate would then be wrong by 2.4 % at a million units per
 * second.
 *
 * Cells: debt (milliseconds still to be paid off), since (the instant at which the debt had this value).
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
import { atLeastOne, checkOptionNames, positive } from '../../internal/options.ts';
import type { RatedEntry } from '../entry.ts';

export interface GcraOptions {
  /** Sustained number of units in each `per`. It may be below 1; for example, 0.5 per second is one unit every 2 seconds. */
  readonly limit: number;
  /** The duration that the rate refers to. */
  readonly per: Duration;
  /** The maximum number of units that are allowed simultaneously, at least 1. Default: `limit`, but at least 1. */
  readonly burst?: number | undefined;
}

export type GcraParams = {
  /** Milliseconds of debt that one unit adds. */
  readonly interval: Millis;
  /** The maximum number of units that are allowed simultaneously. */
  readonly burst: number;
  readonly credit: Millis;
  /**
   * 1 / interval. Multiplying by `rate` is faster than dividing by `interval`, and a division would take a large part of a check's
   * time.
   */
  readonly rate: number;
};

export const gcraAlgorithm: Algorithm<GcraParams> = {
  name: 'gcra',
  width: () => 2,
  available(p, row, at, now) {
    // Above two million units per second, TIME_EPSILON is worth more than one unit, so `free` can exceed the burst.
    const free = (p.credit - debt(p, row, at, now) + TIME_EPSILON) * p.rate;
    return free < p.burst ? free : p.burst;
  },
  waitFor(p, row, at, now, cost) {
    if (cost > p.burst) return Infinity;
    const wait = debt(p, row, at, now) + cost * p.interval - p.credit;
    return wait > TIME_EPSILON ? wait : 0;
  },
  take(p, row, at, now, cost) {
    row[at] = debt(p, row, at, now) + cost * p.interval;
    row[at + 1] = now;
  },
  give(p, row, at, now, cost) {
    row[at] = Math.max(0, debt(p, row, at, now) - cost * p.interval);
    row[at + 1] = now;
  },
  clearIn: (p, row, at, now) => debt(p, row, at, now),
  attempt(p, row, at, now, cost, out) {
    let left = debt(p, row, at, now);
    const after = left + cost * p.interval;
    const wait = cost > p.burst ? Infinity : after - p.credit;
    const allowed = !(wait > TIME_EPSILON);
    if (allowed) {
      left = after;
      row[at] = after;
      row[at + 1] = now;
    }
    const free = (p.credit - left + TIME_EPSILON) * p.rate;
    out[0] = free < p.burst ? free : p.burst;
    out[1] = left;
    return allowed ? 0 : wait;
  },
  refill: (p, limit, window) => (limit === p.burst && window === p.credit ? 'even' : undefined),
  booking: {
    overdraft(p, row, at, now, cost, span) {
      return Math.min(cost, Math.max(0, (p.credit + span - p.interval - debt(p, row, at, now)) * p.rate));
    },
  },
  inherit: { cells: [0], full: (p) => p.credit, unit: (p) => p.interval },
  lease: {
    reduced: (p, span) => continuousRefill(p.interval, Math.floor(p.burst - leak(p, span) / 2)),
    leak,
  },
};

/**
 * The debt at this instant. If the clock goes back, the debt rises by the same amount, so that no units are created. The debt is 0
 * if only a wrong clock can have written the row.
 */
function debt(p: GcraParams, row: Cells, at: number, now: Millis): Millis {
  const left = row[at] - (now - row[at + 1]);
  return left > 0 && !(row[at + 1] > now && isFarAhead(row[at + 1], now, p.credit)) ? left : 0;
}

function leak({ rate }: GcraParams, span: Millis): number {
  return span * rate;
}

/** Limits the rate evenly, with a burst. This is the default algorithm. */
export function gcra(options: GcraOptions): Policy {
  const { limit, per, burst } = checkOptionNames('gcra', options, ['limit', 'per', 'burst']);
  const span = windowOf('gcra.per', per);
  const interval = span / positive('gcra.limit', limit);
  const most = burst === undefined ? Math.max(1, limit) : atLeastOne('gcra.burst', burst);
  return { ...continuousRefill(interval, most), per: span };
}

/** Creates a policy that allows one unit per interval, and at most `burst` units simultaneously. */
export function continuousRefill(interval: Millis, burst: number): Policy {
  const credit = burst * interval;
  const params: GcraParams = { interval, burst, credit, rate: 1 / interval };
  return { algorithm: gcraAlgorithm, params, limit: burst, window: credit };
}

export const gcraEntry: RatedEntry = {
  factory: gcra,
  algorithms: [gcraAlgorithm],
  text: { burst: true, policy: ({ limit, per, burst }) => gcra({ limit, per, burst }) },
};
