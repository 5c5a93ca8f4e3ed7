/** A lease: units that the store debited in one request, for this node to spend before an instant on its own clock. */
import type { Millis } from '../../engine/contract.ts';

export interface Lease {
  /** Units that were not spent. Part of them may have faded: see `spendable`. */
  left: number;
  /** Units that the store debited. */
  readonly granted: number;
  /** When the node asked for the lease, which is before the store debited it. */
  readonly askedAt: Millis;
  /** From this instant on, none of it may be spent. */
  readonly end: Millis;
  /** Units that stay spendable for each millisecond until `end`. Number.MAX_VALUE: units do not fade. */
  readonly unitsPerMs: number;
  /** End of the window that the units were debited in; Infinity for a bucket. */
  readonly windowEnd: Millis;
  /** Until when the store counts the debit, so that returned units are subtracted from it. */
  readonly countedUntil: Millis;
}

/** Units that may be spent now. Zero or negative from the end of the lease on. */
export function spendable({ left, end, unitsPerMs }: Lease, now: Millis): number {
  const notFaded = (end - now) * unitsPerMs;
  return left < notFaded ? left : notFaded;
}
