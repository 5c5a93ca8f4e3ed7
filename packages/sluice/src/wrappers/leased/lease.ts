/** A lease consists of units that the store debited in one request, for this node to spend before an instant on its own clock. */
import type { Millis } from '../../engine/contract.ts';

export interface Lease {
  /** Units that were not spent. Some of them may have faded; see `spendable`. */
  left: number;
  /** Units that the store debited. */
  readonly granted: number;
  /** When the node asked for the lease, which is before the store debited the units. */
  readonly askedAt: Millis;
  /** From this instant on, no unit of the lease may be spent. */
  readonly end: Millis;
  /** For each millisecond left until `end`, at most this many units are spendable. Number.MAX_VALUE if units do not fade. */
  unitsPerMs: number;
  /** End of the window in which the units were debited. Infinity for a bucket. */
  readonly windowEnd: Millis;
  /** The store counts the debit until this instant. Units that are returned earlier reduce the debit. */
  readonly countedUntil: Millis;
  /**
   * If the units are part of a lease that the store itself holds, the instant at which that lease ends, on the store's clock.
   * Undefined if the store debited the units from its own row.
   */
  readonly outerEnd?: Millis | undefined;
}

/** Number of units that may be spent now. Zero or negative once the lease has ended. */
export function spendable({ left, end, unitsPerMs }: Lease, now: Millis): number {
  const notFaded = (end - now) * unitsPerMs;
  return left < notFaded ? left : notFaded;
}

/**
 * Passes on units of the lease, which must be spendable now. They fade until `end`, wherever they are spent, so that all units of
 * the lease together fade as fast as before (docs/decisions/0046-leases-of-leases.md).
 */
export function lend(lease: Lease, units: number, now: Millis): void {
  lease.left = spendable(lease, now) - units;
  lease.unitsPerMs -= units / (lease.end - now);
}

/** Puts back units that were passed on and not spent. They fade as if they had been passed on when the lease began. */
export function takeBack(lease: Lease, units: number): void {
  lease.left = Math.min(lease.granted, lease.left + units);
  lease.unitsPerMs += units / (lease.end - lease.askedAt);
}
