/** What the recordings of GCRA limiters have in common. */
import { type Ledger, MICROSECOND } from './vector.ts';

/**
 * Epoch milliseconds in a float64 cannot resolve shorter intervals than this, nor instants that are closer to a boundary.
 */
export const FINEST_INTERVAL_NS = 100_000;
export const FINEST_STEP_NS = 2000;

export interface Cells {
  readonly interval: number;
  readonly burst: number;
}

/** Within 2 µs of a whole unit, a difference of one is accepted. */
export function compareRemaining(
  ledger: Ledger,
  cells: Cells,
  got: number,
  recorded: number,
  resetAfter: number,
): void {
  const left = cells.burst - resetAfter / cells.interval;
  const nearWhole = Math.abs(left - Math.round(left)) * cells.interval <= 2 * MICROSECOND;
  ledger.near('remaining', got, recorded, nearWhole ? 1 : 0);
}

/** Nanoseconds since 1970 as milliseconds. A float64 cannot hold the nanoseconds themselves. */
export function millis(baseNanos: string | bigint, atNanos = 0): number {
  const nanos = BigInt(baseNanos) + BigInt(atNanos);
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}
