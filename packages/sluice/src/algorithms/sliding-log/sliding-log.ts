/**
 * A log of when each unit was taken. Times are exact, or rounded up to the end of their sub-window, so that entries can be merged
 * and never expire too early.
 *
 * Cells: head, tail (the entries from head up to tail are in use; some may have expired), base, then entries of (time, sum of all
 * costs up to and including this entry). The used units are the last sum minus the base. Therefore every query is a binary search
 * instead of a summation, and expired entries cost no time until a take drops them.
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
import { checkOptionNames, perWindow, positive, whole } from '../../internal/options.ts';
import type { RatedEntry } from '../entry.ts';

export interface SlidingLogOptions {
  /** The maximum number of units in any window, at least 1. */
  readonly limit: number;
  /** The length of a window. */
  readonly per: Duration;
  /** Either 'exact' (default), or the number of sub-windows in `per`. With N sub-windows, a key has at most N + 1 entries. */
  readonly resolution?: 'exact' | number | undefined;
}

export type SlidingLogParams = {
  readonly limit: number;
  readonly per: Millis;
  /** The length of a sub-window, or 0 if times are exact. */
  readonly step: Millis;
  /**
   * The maximum number of entries. Beyond that number, the two oldest entries are merged into one with the time of the newer entry,
   * so that no unit expires early.
   */
  readonly entries: number;
};

const HEADER = 3;
/** If the base exceeds this number, all sums are rebased, because a cost of 1 would be lost when added to a sum near 2^53. */
const LARGEST_BASE = 2 ** 32;
/** Lower bound of `entries`, because with fractional costs, a log can need more entries than the limit has units. */
export const FEWEST_ENTRIES = 100;
/** Maximum float error of sums of fractional costs. It is far smaller than any cost. */
const NEAR = 1e-9;

export const slidingLogAlgorithm: Algorithm<SlidingLogParams> = {
  name: 'sliding-log',
  width: () => HEADER,
  available(p, row, at, now) {
    return p.limit - used(row, at, firstLive(p, row, at, now));
  },
  waitFor(p, row, at, now, cost) {
    if (cost > p.limit) return Infinity;
    const first = firstLive(p, row, at, now);
    if (used(row, at, first) + cost <= p.limit) return 0;
    // Finds the earliest entry after whose expiry the cost fits. Sums never decrease, so a binary search finds it. It compares in
    // the same way as the check above will once that entry has expired, because any other form would round differently with
    // fractional costs.
    const last = lastSum(row, at);
    let [low, high] = [first, row[at + 1] - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (last - sum(row, at, middle) + cost <= p.limit) high = middle;
      else low = middle + 1;
    }
    return time(row, at, low) + p.per - now;
  },
  take(p, row, at, now, cost) {
    dropExpired(p, row, at, now);
    const before = lastSum(row, at);
    const tail = row[at + 1];
    const stamp = stampOf(p, now);
    if (tail > row[at] && time(row, at, tail - 1) >= stamp) {
      row[at + HEADER + 2 * (tail - 1) + 1] = before + cost;
      return;
    }
    if (tail - row[at] >= p.entries) row[at] += 1;
    put(row, at, tail, stamp, before + cost);
    row[at + 1] = tail + 1;
  },
  /**
   * Gives units back: from the charge's own entry if the time of the charge is known, and otherwise from the oldest entries. In the
   * second case, the newest units stay in the log. They expire last, so a refund never admits more units than it returned.
   */
  give(p, row, at, now, cost, takenAt) {
    dropExpired(p, row, at, now);
    if (takenAt === undefined) row[at + 2] = Math.min(row[at + 2] + cost, lastSum(row, at));
    else giveFrom(row, at, cost, stampOf(p, takenAt));
    while (row[at] < row[at + 1] && sum(row, at, row[at]) <= row[at + 2]) row[at] += 1;
    forgetEmpty(row, at);
  },
  clearIn(p, row, at, now) {
    return firstLive(p, row, at, now) === row[at + 1] ? 0 : time(row, at, row[at + 1] - 1) + p.per - now;
  },
  variableLength: {
    grow(p, row, now) {
      if (HEADER + 2 * (row[1] + 1) <= row.length) return row;
      const first = firstLive(p, row, 0, now);
      const live = row[1] - first;
      const copy = new Float64Array(HEADER + 2 * (Math.max(2 * live, 3) + 1));
      copy[1] = live;
      copy[2] = baseOf(row, 0, first);
      for (let entry = 0; entry < live; entry++) {
        copy[HEADER + 2 * entry] = time(row, 0, first + entry);
        copy[HEADER + 2 * entry + 1] = sum(row, 0, first + entry);
      }
      return copy;
    },
    maxWidth: (p) => HEADER + 2 * (Math.max(2 * p.entries, 3) + 1),
  },
  // The log keeps a debit for slightly longer than `per`, or dates it to the end of a sub-window, so that it expires no
  // earlier than `per` after the last of its units was spent.
  lease: {
    shortPart: 1 / 25,
    reduced: (p, _, short) => ({ params: { ...p, per: p.per + short } }),
    lasts: (p, resetAfter) => resetAfter - p.per,
    dated: (p, span) => ({ ...p, step: Math.max(p.step, span) }),
  },
};

/** The time of the entry to which a take at this instant is added. */
function stampOf(p: SlidingLogParams, now: Millis): Millis {
  return p.step === 0 ? now : (Math.floor((now + TIME_EPSILON) / p.step) + 1) * p.step;
}

function time(row: Cells, at: number, entry: number): Millis {
  return row[at + HEADER + 2 * entry];
}

function sum(row: Cells, at: number, entry: number): number {
  return row[at + HEADER + 2 * entry + 1];
}

function lastSum(row: Cells, at: number): number {
  return row[at + 1] > row[at] ? sum(row, at, row[at + 1] - 1) : row[at + 2];
}

/** Index of the first entry that still counts, or `tail` if none does. */
function firstLive(p: SlidingLogParams, row: Cells, at: number, now: Millis): number {
  const head = row[at];
  const tail = row[at + 1];
  // If a wrong clock wrote the last entry, all earlier entries had expired according to that clock, so the take dropped them.
  if (head !== tail && isFarAhead(time(row, at, tail - 1) - p.step, now, p.per)) return tail;
  const expired = now + TIME_EPSILON - p.per;
  if (head === tail || time(row, at, head) > expired) return head;
  let [low, high] = [head + 1, tail];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (time(row, at, middle) > expired) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The sum of all costs before this entry. */
function baseOf(row: Cells, at: number, first: number): number {
  return first > row[at] ? sum(row, at, first - 1) : row[at + 2];
}

function used(row: Cells, at: number, first: number): number {
  return lastSum(row, at) - baseOf(row, at, first);
}

function dropExpired(p: SlidingLogParams, row: Cells, at: number, now: Millis): void {
  const first = firstLive(p, row, at, now);
  row[at + 2] = baseOf(row, at, first);
  row[at] = first;
  forgetEmpty(row, at);
  if (row[at + 2] > LARGEST_BASE) rebase(row, at);
}

/** Refunds units from the entry whose time is `takenAt`. Refunds at most the whole entry, and nothing if there is no such entry. */
function giveFrom(row: Cells, at: number, cost: number, takenAt: Millis): void {
  const head = row[at];
  const tail = row[at + 1];
  let [low, high] = [head, tail];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (time(row, at, middle) >= takenAt) high = middle;
    else low = middle + 1;
  }
  if (low === tail || time(row, at, low) !== takenAt) return;
  const amount = sum(row, at, low) - baseOf(row, at, low);
  const isAll = amount - cost <= NEAR;
  const given = isAll ? amount : cost;
  const gap = isAll ? 1 : 0;
  // Moves the entries on the side with fewer entries to close the gap, and corrects their sums.
  if (low - head < tail - low) {
    row[at + 2] = Math.min(row[at + 2] + given, lastSum(row, at));
    for (let i = low - 1; i >= head; i--) put(row, at, i + gap, time(row, at, i), sum(row, at, i) + given);
    row[at] = head + gap;
  } else {
    for (let i = low + gap; i < tail; i++) put(row, at, i - gap, time(row, at, i), sum(row, at, i) - given);
    row[at + 1] = tail - gap;
  }
}

function put(row: Cells, at: number, entry: number, time: Millis, sum: number): void {
  row[at + HEADER + 2 * entry] = time;
  row[at + HEADER + 2 * entry + 1] = sum;
}

/** The time of the newest entry, which contains the last take. */
export function newestTime(row: Cells, at: number): Millis {
  return time(row, at, row[at + 1] - 1);
}

/** Rebases all sums so that they start from 0. */
function rebase(row: Cells, at: number): void {
  for (let entry = row[at]; entry < row[at + 1]; entry++) row[at + HEADER + 2 * entry + 1] -= row[at + 2];
  row[at + 2] = 0;
}

function forgetEmpty(row: Cells, at: number): void {
  if (row[at] === row[at + 1]) row[at] = row[at + 1] = row[at + 2] = 0;
}

/** Keeps a log of every take, so that no window ever contains more units than the limit. */
export function slidingLog(options: SlidingLogOptions): Policy {
  const {
    limit,
    per,
    resolution = 'exact',
  } = checkOptionNames('slidingLog', options, ['limit', 'per', 'resolution']);
  positive('slidingLog.limit', limit);
  const window = windowOf('slidingLog.per', per);
  perWindow('slidingLog.limit', limit, window);
  const windows = resolution === 'exact' ? 0 : whole('slidingLog.resolution', resolution);
  const params: SlidingLogParams = {
    limit,
    per: window,
    step: windows === 0 ? 0 : window / windows,
    entries: windows === 0 ? Math.max(Math.ceil(limit) + 1, FEWEST_ENTRIES) : windows + 1,
  };
  return { algorithm: slidingLogAlgorithm, params, limit, window };
}

export const slidingLogEntry: RatedEntry = {
  factory: slidingLog,
  algorithms: [slidingLogAlgorithm],
  text: { burst: false, policy: ({ limit, per }) => slidingLog({ limit, per }) },
};
