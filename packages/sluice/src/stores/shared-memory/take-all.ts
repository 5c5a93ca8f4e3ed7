/**
 * Takes from several rows in one step. The stripes of all rows are locked while the takes are decided. Then the changed rows are
 * written one after another, each with the journal of its stripe.
 *
 * A thread that was stopped may lose its locks. If it loses a lock before it writes the first row, nothing has changed. If it
 * loses a lock between two writes, the caller must give back what was charged to the rows that were already written.
 */
import { allOrNone, type Part } from '../../engine/all-or-none.ts';
import type { Decision, Hit, Millis } from '../../engine/contract.ts';
import { decide } from '../../engine/decide.ts';
import type { InThread } from './inline-take.ts';
import { LATEST_CELL } from './layout.ts';
import type { Rows } from './rows.ts';
import { isUntouched, type Scratch } from './scratch.ts';

/** The take of one row. */
export interface RowTake {
  readonly hit: Hit;
  /** The fingerprint of the row. */
  readonly low: number;
  readonly high: number;
  /** The end of the key's manual block. */
  readonly until: Millis;
  /** The divisor of the row's eviction weight. */
  readonly measure: number;
  /** Holds the row while the takes are decided. Each take has its own. */
  readonly scratch: Scratch;
  /** Set once the hit was applied to the row in `scratch`. */
  decision: Decision | undefined;
  /** Whether the changed row is in the table. */
  isWritten: boolean;
}

/**
 * Decides on all takes. Returns undefined if a lock was lost. In that case, or if an error is thrown, some takes may already have
 * been written.
 */
export function decideAll(rows: Rows, thread: InThread, takes: readonly RowTake[]): Decision[] | undefined {
  try {
    if (!rows.openAll(takes)) return undefined;
    const now = timeIn(rows, thread);
    for (const { hit, low, high, scratch } of takes) {
      const slot = rows.select(low, high);
      scratch.load(hit.plan, rows.head, slot);
    }
    // The takes are synchronous, and so is the result.
    const decisions = allOrNone(takes.map((take) => partOf(take, now))) as Decision[];
    // Nothing after this check allocates much memory or waits, so a slow thread can be presumed dead only before this check.
    if (!rows.areOurs()) return undefined;
    return takes.every((take) => write(rows, thread, take, now)) ? decisions : undefined;
  } finally {
    rows.closeAll();
  }
}

/** The time for all of the locked stripes. */
function timeIn({ heads, layout: { cells } }: Rows, { time, isGiven }: InThread): Millis {
  const latest = heads.map((head) => (head >> 1) + LATEST_CELL);
  const now = isGiven ? time() : Math.max(time(), ...latest.map((cell) => cells[cell]));
  for (const cell of latest) cells[cell] = now;
  return now;
}

function partOf(take: RowTake, now: Millis): Part {
  const { hit, until, scratch } = take;
  const apply = (applied: Hit): Decision => decide(applied, scratch.cells, 0, now, until, scratch);
  return {
    peek: () => apply({ ...hit, verb: 'peek' }),
    take: () => (take.decision = apply(hit)),
    refund: (of) => apply({ ...hit, verb: 'refund', of }),
  };
}

/** Writes the row if the take has changed it. Returns false if the lock was lost before the row was written. */
function write(rows: Rows, { weights }: InThread, take: RowTake, now: Millis): boolean {
  const { hit, low, high, measure, scratch, decision } = take;
  if (decision === undefined || isUntouched(hit, decision) || !scratch.changed(hit.plan)) return true;
  // The slot is looked up again, because the row may have been evicted to make room for a row that was written first.
  const slot = rows.select(low, high);
  const bits = weights.bitsFor(slot, now, decision.policies, measure);
  take.isWritten = rows.writeAndStay(slot, weights.clearAt, bits, scratch.next, scratch.length);
  return take.isWritten;
}
