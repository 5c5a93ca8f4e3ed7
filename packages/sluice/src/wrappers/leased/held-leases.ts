/** The leases that a node holds for one key: the lease that it spends, and possibly the next one, which was fetched ahead. */
import type { Millis } from '../../engine/contract.ts';
import { type Lease, spendable } from './lease.ts';

export class HeldLeases {
  /**
   * The lease that the node spends. A lease that is used up or expired stays here until another one replaces it, because refunds
   * may belong to it.
   */
  private current: Lease | undefined;
  /** The lease that was fetched ahead. There is one only while there is a current lease. */
  private next: Lease | undefined;
  private readonly isRenewable: boolean;
  private readonly onEnd: (lease: Lease, now: Millis) => void;

  /** `isRenewable` is the same as in `Terms`. `onEnd` is called with a lease that can no longer be spent. */
  constructor(isRenewable: boolean, onEnd: (lease: Lease, now: Millis) => void) {
    this.isRenewable = isRenewable;
    this.onEnd = onEnd;
  }

  get hasNext(): boolean {
    return this.next !== undefined;
  }

  /** Number of units that this node holds, as decisions report it. */
  units(now: Millis): number {
    return Math.max(0, this.spendableNow(now)) + (this.next === undefined ? 0 : this.next.left);
  }

  /** Whether the current lease alone has this many units. */
  currentCovers(cost: number, now: Millis): boolean {
    return this.spendableNow(now) >= cost;
  }

  /** Whether the leases together have this many units. Ends expired leases first. */
  covers(cost: number, now: Millis): boolean {
    if (this.currentCovers(cost, now)) return true;
    this.endExpired(now);
    if (this.next === undefined) return false;
    const units = Math.max(0, this.spendableNow(now)) + spendable(this.next, now);
    if (units >= cost) return true;
    // The next lease has faded, so another one may be fetched.
    if (units < 1) this.next = undefined;
    return false;
  }

  /** Spends units that `covers` has found. Returns how many are left in the lease that the node now spends. */
  spend(cost: number, now: Millis): number {
    const current = this.current as Lease;
    const here = spendable(current, now);
    if (here >= cost) {
      current.left = here - cost;
      return current.left;
    }
    const next = this.next as Lease;
    next.left = spendable(next, now) - (cost - Math.max(0, here));
    current.left = 0;
    this.current = next;
    this.next = undefined;
    return next.left;
  }

  /**
   * Puts units back into the lease that they came from. Returns false if that lease has expired, or if it would have more units
   * than were granted.
   */
  refund(cost: number, now: Millis): boolean {
    const { current } = this;
    if (current === undefined || now >= current.end || current.left + cost > current.granted) return false;
    current.left += cost;
    return true;
  }

  add(lease: Lease, now: Millis): void {
    const { current } = this;
    if (current === undefined) this.current = lease;
    else if (current.left > 0 && now < current.end) this.next = lease;
    else if (current.left > 0 && this.isRenewed(current, now)) {
      const { left } = current;
      this.current = { ...lease, left: lease.left + left, granted: lease.granted + left };
    } else {
      this.onEnd(current, now);
      this.current = lease;
    }
  }

  /** Ends leases that can no longer be spent. */
  endExpired(now: Millis): void {
    const { current, next } = this;
    if (current !== undefined && now >= current.end && !this.isRenewed(current, now))
      this.onEnd(current, now);
    if (next === undefined || now < next.end) return;
    this.onEnd(next, now);
    this.next = undefined;
  }

  /** All leases that are held. */
  all(): readonly Lease[] {
    return [this.current, this.next].filter((lease) => lease !== undefined);
  }

  clear(): void {
    this.current = undefined;
    this.next = undefined;
  }

  /** Number of units of the current lease that may be spent now. Negative if there is no current lease. */
  private spendableNow(now: Millis): number {
    return this.current === undefined ? -Infinity : spendable(this.current, now);
  }

  private isRenewed({ windowEnd }: Lease, now: Millis): boolean {
    return this.isRenewable && now < windowEnd;
  }
}
