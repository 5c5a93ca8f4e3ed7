/** Helpers for all recordings of GCRA limiters. */
import { type Ledger, MICROSECOND } from './vector.ts';

/**
 * Limits with a shorter emission interval, in nanoseconds, are skipped. Epoch milliseconds in a float64 cannot resolve such an
 * interval.
 */
export const FINEST_INTERVAL_NS = 100_000;
/**
 * Denials with a wait of at most this many nanoseconds are skipped. Epoch milliseconds in a float64 cannot resolve such a wait.
 */
export const FINEST_STEP_NS = 2000;

export interface Cells {
  readonly interval: number;
  readonly burst: number;
}

/** Compares the remaining units. Accepts a difference of one if the exact value is within 2 µs of a whole unit. */
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

/** Converts nanoseconds since 1970, which a float64 cannot hold, to milliseconds. */
export function millis(baseNanos: string | bigint, atNanos = 0): number {
  const nanos = BigInt(baseNanos) + BigInt(atNanos);
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}
