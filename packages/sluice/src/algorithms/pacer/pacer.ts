/**
 * Spaces requests evenly. A request is allowed once the cost of the previous one is paid off, and its own cost delays the next one.
 * Permits are stored during idle time, and stored permits are spent first. With a warm-up, stored permits cost more the longer the
 * pause was.
 *
 * Cells: spent (how many stored permits were spent), next (the earliest instant at which the next request is allowed), since (the
 * instant of the last change). `next` may be arbitrarily far ahead, because one request may have any cost. Therefore a row that was
 * written by a wrong clock is recognized by `since`, not by `next`.
 */
import {
  type Algorithm,
  type Cells,
  TIME_EPSILON,
  isFarAhead,
  type Millis,
  type Policy,
} from '../../engine/contract.ts';
import { type Duration, duration, windowOf } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { cost as checkCost, checkOptionNames, notNegative, oneOf, positive } from '../../internal/options.ts';
import type { RatedEntry } from '../entry.ts';

export interface PacerOptions {
  /** Number of permits in each `per`, evenly spaced. If it is below 1, a permit takes longer than `per`. */
  readonly limit: number;
  /** The duration that the rate refers to. */
  readonly per: Duration;
  /** How long it takes to reach the full rate after a pause. */
  readonly warmup?: Duration | undefined;
  /**
   * The time that the first permit takes after a long pause, as a multiple of the time that a permit takes at the full rate.
   * Default 3.
   */
  readonly coldFactor?: number | undefined;
  /**
   * Maximum number of permits that are stored during idle time and can be spent without delay. Default 0. Not allowed with a
   * warm-up.
   */
  readonly maxBurst?: number | undefined;
  /**
   * Whether a new key starts with as many stored permits as it can have ('full', the default) or, as in Guava, with none ('empty').
   */
  readonly fresh?: 'full' | 'empty' | undefined;
  /**
   * Precision of delays. With 'exact' (default), they are not rounded. With 'microseconds', as in Guava, the delay that a request
   * causes is rounded down to whole microseconds, so a small part of each request is free.
   */
  readonly resolution?: 'exact' | 'microseconds' | undefined;
}

/**
 * Parameters of the pacer. Durations are in ticks, which are milliseconds or, with a resolution of microseconds, whole
 * microseconds.
 */
export type PacerParams = {
  /** Ticks per permit at the full rate. */
  readonly interval: number;
  /** The maximum number of permits that can be stored. */
  readonly stored: number;
  /** Stored permits above this number are cold, so they cost more. */
  readonly threshold: number;
  /** Extra ticks that a permit costs for each cold permit that is stored. */
  readonly slope: number;
  /** Ticks of idle time in which a key stores one permit. */
  readonly refill: number;
  /** The ticks that a stored permit costs when it is not cold. */
  readonly warm: number;
  readonly freshEmpty: boolean;
  /** Ticks per millisecond. It is 1, or 1000 with a resolution of microseconds. Cells are in milliseconds either way. */
  readonly scale: number;
  /** The policy's window. */
  readonly window: Millis;
};

const pacerAlgorithm: Algorithm<PacerParams> = {
  name: 'pacer',
  width: () => 3,
  available: (p, row, at, now) => (nextOf(p, row, at, now) - now <= TIME_EPSILON ? Infinity : 0),
  waitFor(p, row, at, now) {
    const wait = nextOf(p, row, at, now) - now;
    return wait <= TIME_EPSILON ? 0 : wait;
  },
  take(p, row, at, now, cost) {
    const missing = spent(p, row, at, now);
    const stored = p.stored - missing;
    const fromStore = Math.min(cost, stored);
    const paid = price(p, stored, fromStore) + whole(p, (cost - fromStore) * p.interval);
    row[at + 1] = (ticks(p, Math.max(nextOf(p, row, at, now), now)) + paid) / p.scale;
    row[at] = missing + fromStore;
    row[at + 2] = now;
  },
  give(p, row, at, now, cost) {
    // A fresh row must stay fresh, because a key starts to store permits as soon as its row contains a time.
    const due = nextOf(p, row, at, now);
    if (p.freshEmpty && due === 0) return;
    const missing = spent(p, row, at, now);
    const next = ticks(p, Math.max(due, now));
    const back = Math.min(cost, (next - ticks(p, now)) / p.interval);
    row[at] = Math.max(0, missing - (cost - back));
    row[at + 1] = (next - whole(p, back * p.interval)) / p.scale;
    row[at + 2] = now;
  },
  clearIn(p, row, at, now) {
    // If fresh keys start empty, the row must not be dropped, because the key would then be fresh and lose its stored permits.
    const next = nextOf(p, row, at, now);
    if (p.freshEmpty && p.stored > 0) return next === 0 ? 0 : Infinity;
    return Math.max(0, next - now) + (spent(p, row, at, now) * p.refill) / p.scale;
  },
  attempt(p, row, at, now, cost, out) {
    const wait = pacerAlgorithm.waitFor(p, row, at, now, cost);
    if (wait === 0) pacerAlgorithm.take(p, row, at, now, cost);
    out[0] = pacerAlgorithm.available(p, row, at, now);
    out[1] = pacerAlgorithm.clearIn(p, row, at, now);
    return wait;
  },
  booking: {
    overdraft(p, row, at, now, cost, span) {
      const dearest = Math.max(p.interval, p.interval + (p.stored - p.threshold) * p.slope);
      return Math.min(cost, Math.max(0, ((now + span - nextOf(p, row, at, now)) * p.scale) / dearest));
    },
  },
};

/** The earliest instant of the next request. 0, as in a fresh row, if only a wrong clock can have written the row. */
function nextOf(p: PacerParams, row: Cells, at: number, now: Millis): Millis {
  return isFarAhead(row[at + 2], now, p.window) ? 0 : row[at + 1];
}

/** Converts an instant to ticks. With a resolution of microseconds, it is rounded to a whole tick. */
function ticks(p: PacerParams, instant: Millis): number {
  return p.scale === 1 ? instant : Math.floor(instant * p.scale + 0.5);
}

/**
 * Rounds a delay in ticks down if the resolution is microseconds. It first adds a small amount, so that float error does not lower
 * the result by one tick.
 */
function whole(p: PacerParams, price: number): number {
  return p.scale === 1 ? price : Math.floor(Math.max(0, price + 1e-6));
}

function spent(p: PacerParams, row: Cells, at: number, now: Millis): number {
  if (isFarAhead(row[at + 2], now, p.window)) return p.freshEmpty ? p.stored : 0;
  if (p.freshEmpty && row[at + 1] === 0) return p.stored;
  const idle = Math.max(0, ticks(p, now) - ticks(p, row[at + 1]));
  return Math.max(0, Math.min(row[at], p.stored) - idle / p.refill);
}

/**
 * Ticks by which spending `amount` stored permits delays the next request. Cold permits are spent first, and each of them costs
 * less than the one before, so the result is the area under a falling line.
 */
function price(p: PacerParams, stored: number, amount: number): number {
  const cold = Math.max(0, stored - p.threshold);
  const fromCold = Math.min(cold, amount);
  const edges = p.interval + cold * p.slope + (p.interval + (cold - fromCold) * p.slope);
  return whole(p, (fromCold * edges) / 2) + whole(p, (amount - fromCold) * p.warm);
}

/** Upper bound of the interval, in ticks. It keeps sums finite even for extremely low rates. */
const SLOWEST = 1e200;

/**
 * Spaces requests evenly. A request is allowed once the cost of the previous one is paid off, and its own cost delays the next
 * one.
 */
export function pacer(options: PacerOptions): Policy {
  const {
    limit,
    per,
    warmup,
    coldFactor,
    maxBurst,
    fresh = 'full',
    resolution = 'exact',
  } = checkOptionNames('pacer', options, [
    'limit',
    'per',
    'warmup',
    'coldFactor',
    'maxBurst',
    'fresh',
    'resolution',
  ]);
  oneOf('pacer.fresh', fresh, ['full', 'empty']);
  oneOf('pacer.resolution', resolution, ['exact', 'microseconds']);
  const scale = resolution === 'exact' ? 1 : 1000;
  const window = windowOf('pacer.per', per);
  const interval = Math.min((window * scale) / positive('pacer.limit', limit), SLOWEST);
  const freshEmpty = fresh === 'empty';
  const store =
    warmup === undefined
      ? bursty(interval, maxBurst === undefined ? 0 : checkCost(maxBurst, 'pacer.maxBurst'))
      : warming(
          interval,
          inTicks(duration('pacer.warmup', warmup), scale),
          notNegative('pacer.coldFactor', coldFactor === undefined ? 3 : coldFactor),
        );
  if (warmup !== undefined && maxBurst !== undefined) {
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'pacer.maxBurst', maxBurst, 'not allowed with a warm-up');
  }
  if (warmup === undefined && coldFactor !== undefined) {
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'pacer.coldFactor',
      coldFactor,
      'allowed only with a warm-up',
    );
  }
  // The announced limit is at least one permit. For example, 0.5 per second is announced as 1 per 2 seconds.
  const announced = limit < 1 ? { limit: 1, window: window / limit } : { limit, window };
  const params: PacerParams = { interval, ...store, freshEmpty, scale, window: announced.window };
  return { algorithm: pacerAlgorithm, params, ...announced };
}

/** Converts a duration to ticks. The result is at least 1 and, with a resolution of microseconds, an integer. */
function inTicks(span: Millis, scale: number): number {
  return scale === 1 ? span : Math.max(1, Math.round(span * scale));
}

type StoreParams = Pick<PacerParams, 'stored' | 'threshold' | 'slope' | 'refill' | 'warm'>;

function bursty(interval: number, stored: number): StoreParams {
  return { stored, threshold: stored, slope: 0, refill: interval, warm: 0 };
}

function warming(interval: number, warmup: number, coldFactor: number): StoreParams {
  const cold = interval * coldFactor;
  const threshold = (0.5 * warmup) / interval;
  const stored = threshold + (2 * warmup) / (interval + cold);
  const slope = (cold - interval) / (stored - threshold);
  return { stored, threshold, slope, refill: warmup / stored, warm: interval };
}

export const pacerEntry: RatedEntry = {
  factory: pacer,
  algorithms: [pacerAlgorithm],
  text: { burst: true, policy: ({ limit, per, burst }) => pacer({ limit, per, maxBurst: burst }) },
};
