/**
 * Smooth outflow: whoever comes passes when the last one is paid for, and its own cost delays the next.
 * Idle time is stored and spent first; with a warm-up, stored permits cost more the longer the pause was.
 *
 * Cells: spent (of the stored permits), next (the instant from which the next one passes).
 */
import { type Algorithm, type Cells, FORGIVEN, type Millis, type Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { SluiceError } from '../../errors.ts';
import { cost as checkCost, known, notNegative, oneOf, positive } from '../../options.ts';

export interface PacerOptions {
  readonly limit: number;
  readonly per: Duration;
  /** How long the pace takes from cold to full after a pause. */
  readonly warmup?: Duration | undefined;
  /** How many times slower the first one is after a long pause; default 3. */
  readonly coldFactor?: number | undefined;
  /** Permits that idle time may store, to be spent without delay; default 0. Not with a warm-up. */
  readonly maxBurst?: number | undefined;
  /** What a key that was never seen has stored: 'full' (default) or, as in Guava, 'empty'. */
  readonly fresh?: 'full' | 'empty' | undefined;
}

export type PacerParams = {
  /** Milliseconds per permit at full pace. */
  readonly interval: Millis;
  /** Most permits stored. */
  readonly stored: number;
  /** Stored permits above this are cold. */
  readonly threshold: number;
  /** Extra milliseconds per permit for each cold permit stored. */
  readonly slope: number;
  /** Milliseconds in which an idle key stores one permit. */
  readonly refill: Millis;
  /** A stored permit that is not cold costs this. */
  readonly warm: Millis;
  readonly freshEmpty: boolean;
};

const pacerAlgorithm: Algorithm<PacerParams> = {
  name: 'pacer',
  bookable: true,
  width: () => 2,
  available: (_, row, at, now) => (row[at + 1] - now <= FORGIVEN ? Infinity : 0),
  waitFor(_, row, at, now) {
    const wait = row[at + 1] - now;
    return wait <= FORGIVEN ? 0 : wait;
  },
  take(p, row, at, now, cost) {
    const missing = spent(p, row, at, now);
    const stored = p.stored - missing;
    const fromStore = Math.min(cost, stored);
    row[at] = missing + fromStore;
    row[at + 1] = Math.max(row[at + 1], now) + price(p, stored, fromStore) + (cost - fromStore) * p.interval;
  },
  give(p, row, at, now, cost) {
    const missing = spent(p, row, at, now);
    const due = Math.max(0, row[at + 1] - now);
    const back = Math.min(cost, due / p.interval);
    row[at] = Math.max(0, missing - (cost - back));
    row[at + 1] = Math.max(row[at + 1], now) - back * p.interval;
  },
  clearIn(p, row, at, now) {
    // A full store is better than a fresh, empty one: such a key must not be forgotten.
    if (p.freshEmpty && p.stored > 0) return row[at + 1] === 0 ? 0 : Infinity;
    return Math.max(0, row[at + 1] - now) + spent(p, row, at, now) * p.refill;
  },
};

function spent(p: PacerParams, row: Cells, at: number, now: Millis): number {
  if (p.freshEmpty && row[at + 1] === 0) return p.stored;
  return Math.max(0, row[at] - Math.max(0, now - row[at + 1]) / p.refill);
}

/** What `amount` stored permits cost: the area under a line that falls from cold to warm. */
function price(p: PacerParams, stored: number, amount: number): Millis {
  const cold = Math.max(0, stored - p.threshold);
  const fromCold = Math.min(cold, amount);
  const edges = 2 * p.interval + (cold + cold - fromCold) * p.slope;
  return (fromCold * edges) / 2 + (amount - fromCold) * p.warm;
}

/** A rate next to nothing still has an interval that can be added up. */
const SLOWEST: Millis = 1e200;

export function pacer(options: PacerOptions): Policy {
  const {
    limit,
    per,
    warmup,
    coldFactor,
    maxBurst,
    fresh = 'full',
  } = known('pacer', options, ['limit', 'per', 'warmup', 'coldFactor', 'maxBurst', 'fresh']);
  oneOf('pacer.fresh', fresh, ['full', 'empty']);
  const window = duration('pacer.per', per);
  const interval = Math.min(window / positive('pacer.limit', limit), SLOWEST);
  const freshEmpty = fresh === 'empty';
  const params: PacerParams =
    warmup === undefined
      ? bursty(interval, maxBurst === undefined ? 0 : checkCost(maxBurst, 'pacer.maxBurst'), freshEmpty)
      : warming(
          interval,
          duration('pacer.warmup', warmup),
          notNegative('pacer.coldFactor', coldFactor === undefined ? 3 : coldFactor),
          freshEmpty,
        );
  if (warmup !== undefined && maxBurst !== undefined) {
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'pacer.maxBurst', maxBurst, 'not with a warm-up');
  }
  if (warmup === undefined && coldFactor !== undefined) {
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'pacer.coldFactor', coldFactor, 'only with a warm-up');
  }
  return { algorithm: pacerAlgorithm, params, limit, window };
}

function bursty(interval: Millis, stored: number, freshEmpty: boolean): PacerParams {
  return { interval, stored, threshold: stored, slope: 0, refill: interval, warm: 0, freshEmpty };
}

function warming(interval: Millis, warmup: Millis, coldFactor: number, freshEmpty: boolean): PacerParams {
  const cold = interval * coldFactor;
  const threshold = (0.5 * warmup) / interval;
  const stored = threshold + (2 * warmup) / (interval + cold);
  const slope = (cold - interval) / (stored - threshold);
  return { interval, stored, threshold, slope, refill: warmup / stored, warm: interval, freshEmpty };
}
