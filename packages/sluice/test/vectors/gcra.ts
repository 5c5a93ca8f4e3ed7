/** What the two recordings of GCRA have in common. */
import { inMillis } from '../../src/internal/duration.ts';
import { gcra, type Policy } from '../../src/index.ts';
import { type Ledger, MICROSECOND } from './vector.ts';

/** Intervals below this, and instants nearer to a boundary, are finer than epoch milliseconds in a float64 can tell. */
export const FINEST_INTERVAL_NS = 100_000;
export const FINEST_STEP_NS = 2000;

export interface Cells {
  readonly interval: number;
  readonly burst: number;
}

export const policyOf = ({ interval, burst }: Cells): Policy =>
  gcra({ limit: 1, per: inMillis(interval), burst });

/** Within 2 µs of a whole unit, one more or less is the same answer. */
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

/** Exact to the float64: nanoseconds since 1970 are too many digits for one. */
export function millis(baseNanos: string | bigint, atNanos = 0): number {
  const nanos = BigInt(baseNanos) + BigInt(atNanos);
  return Number(nanos / 1_000_000n) + Number(nanos % 1_000_000n) / 1e6;
}
