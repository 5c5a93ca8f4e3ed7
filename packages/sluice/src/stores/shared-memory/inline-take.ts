/**
 * The fast path for the most frequent hit: a take of the whole cost from a row that exists and fits into its slot. The steps are
 * the same as in `Rows`, but in a single function and without intermediate copies, because V8 does not inline all of `Rows` into a
 * check, and passing timestamps between functions allocates memory. Single words are read without `Atomics.load`, which is a function
 * call. If the holder misses a waiter because of such a read, the waiter wakes up by itself a few milliseconds later.
 */
import type { Cells, Decision, Millis, Plan } from '../../engine/contract.ts';
import { isPlain, type Plain, takeAll, takeOne } from '../memory/taker.ts';
import { fingerprint, high, low } from '../table/fingerprint.ts';
import {
  CHAIN,
  CLEAR_CELL,
  headOf,
  INLINE,
  JOURNAL,
  JOURNAL_SLOT,
  LATEST_CELL,
  LENGTH_AND_WEIGHT,
  type Layout,
  LOCK,
  ROW_CELL,
  SLOT,
  TAG_HIGH,
  WAITING,
} from './layout.ts';
import { ARMED, type Lock } from './lock.ts';
import type { Weights } from './weights.ts';

/** What the fast path needs to know about a plan. */
export interface InlinePlan {
  readonly policies: readonly Plain[];
  /** Seed for the fingerprints of the plan's rows. */
  readonly row: Int32Array;
  /** The divisor of the rows' eviction weights. */
  readonly measure: number;
}

/** Decides on a take. Returns undefined if the general path must decide, because the key has no row or the lock stays taken. */
export type InlineTake = (plan: InlinePlan, key: string, cost: number) => Decision | undefined;

/** State that all takes of a thread share. */
export interface InThread {
  readonly layout: Layout;
  readonly lock: Lock;
  readonly weights: Weights;
  readonly time: () => Millis;
  /** Whether the time comes from a clock that the caller passed. Such a clock may go back, so it is read under the lock. */
  readonly isGiven: boolean;
}

/** The policies of a plan that the fast path can decide on. Undefined if the plan's rows or policies need the general path. */
export function inlinePolicies({ policies, inherit, width }: Plan): readonly Plain[] | undefined {
  return inherit === undefined && policies.every(isPlain) && width <= INLINE ? policies : undefined;
}

/**
 * Creates the fast path of a thread. It is one function for all plans, because V8 treats captured variables as constants only in a
 * function that was created once. With a function for each plan, a check took a quarter longer as soon as there were two limiters.
 */
export function inlineTake({ layout, lock, weights, time, isGiven }: InThread): InlineTake {
  const { words, cells, bucketsAt, buckets, slotLinksAt, slotsAt } = layout;
  const row: Cells = new Float64Array(INLINE);

  return function take({ policies, row: seed, measure }, key, cost) {
    // The time is read before the lock is taken, so that the lock is held for less time.
    let now = isGiven ? 0 : time();
    fingerprint(key, seed);
    const tagLow = low;
    const tagHigh = high;
    const head = headOf(layout, tagHigh);
    const token = lock.nextToken();
    if (Atomics.compareExchange(words, head + LOCK, 0, token) !== 0 && !lock.spin(head)) return undefined;
    let decision: Decision | undefined;
    let held = token;
    let isReleased = false;
    try {
      let slot = -1;
      let index = words[head + bucketsAt + (tagLow & (buckets - 1))];
      while (index !== 0) {
        slot = head + slotsAt + (index - 1) * SLOT;
        if (words[slot] === tagLow && words[slot + TAG_HIGH] === tagHigh) break;
        index = words[head + slotLinksAt + index - 1];
      }
      if (index !== 0) {
        const latest = (head >> 1) + LATEST_CELL;
        if (isGiven) cells[latest] = time();
        else if (now > cells[latest]) cells[latest] = now;
        now = cells[latest];
        const from = (slot >> 1) + ROW_CELL;
        for (let i = 0; i < INLINE; i++) row[i] = cells[from + i];
        decision =
          policies.length === 1
            ? takeOne(policies[0], row, 0, now, cost)
            : takeAll(policies, row, 0, now, cost);
        // From this check until the lock is armed, nothing allocates memory or waits, so a slow thread can be presumed dead only
        // before this check.
        if (decision.taken > 0 && words[head + LOCK] === token) {
          const journal = head + JOURNAL;
          words[journal] = tagLow;
          words[journal + TAG_HIGH] = tagHigh;
          words[journal + CHAIN] = 0;
          const bits = weights.bitsFor(slot, now, decision.policies, measure);
          words[journal + LENGTH_AND_WEIGHT] = bits;
          const { clearAt } = weights;
          cells[(journal >> 1) + CLEAR_CELL] = clearAt;
          const to = (journal >> 1) + ROW_CELL;
          for (let i = 0; i < INLINE; i++) cells[to + i] = row[i];
          words[head + JOURNAL_SLOT] = slot + 1;
          if (Atomics.compareExchange(words, head + LOCK, token, token | ARMED) === token) {
            held = token | ARMED;
            words[slot + LENGTH_AND_WEIGHT] = bits;
            cells[(slot >> 1) + CLEAR_CELL] = clearAt;
            for (let i = 0; i < INLINE; i++) cells[from + i] = row[i];
          }
        }
      }
    } finally {
      isReleased = Atomics.compareExchange(words, head + LOCK, held, 0) === held;
      if (words[head + WAITING] > 0) Atomics.notify(words, head + LOCK, 1);
    }
    // If the lock was lost during the change, the next holder has completed the change.
    return isReleased || held !== token ? decision : undefined;
  };
}
