/** The leases that a node holds for one key: the lease that it spends, and possibly the next one, which was fetched ahead. */
import type { Millis } from '../../engine/contract.ts';
import { lend, type Lease, spendable, takeBack } from './lease.ts';

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

  /**
   * Whether one lease has this many units. Only units of the same lease can be passed on together, because they must all expire at
   * the same instant.
   */
  canLend(cost: number, now: Millis): boolean {
    this.endExpired(now);
    return this.currentCovers(cost, now) || (this.next !== undefined && spendable(this.next, now) >= cost);
  }

  /** Number of whole units of the current lease that can be passed on. */
  lendable(now: Millis): number {
    return Math.max(0, Math.floor(this.spendableNow(now)));
  }

  /** Passes on units that `canLend` or `lendable` has found. Returns the instant after which they must not be spent. */
  lend(cost: number, now: Millis): Millis {
    if (!this.currentCovers(cost, now)) this.useNext(now);
    const current = this.current as Lease;
    lend(current, cost, now);
    return this.expiryOf(current);
  }

  /** Number of units left in the current lease. */
  get left(): number {
    return this.current?.left ?? 0;
  }

  /**
   * Puts back units that were passed on, and that may be spent until `expiry`. Returns false if the current lease lasts beyond
   * `expiry`, which means that the units came from an earlier lease.
   */
  takeBack(cost: number, expiry: Millis, now: Millis): boolean {
    const { current } = this;
    if (current === undefined || now >= current.end || current.end > expiry) return false;
    takeBack(current, cost);
    return true;
  }

  add(lease: Lease, now: Millis): void {
    const { current } = this;
    if (current === undefined) this.current = lease;
    else if (current.left > 0 && now < current.end) this.next = lease;
    else if (current.left > 0 && this.isRenewed(current, now)) this.current = merged(lease, current);
    else {
      this.onEnd(current, now);
      this.current = lease;
    }
  }

  /** Replaces the current lease with the next one. */
  private useNext(now: Millis): void {
    const [current, next] = [this.current as Lease, this.next as Lease];
    this.next = undefined;
    this.current = undefined;
    if (current.left > 0 && this.isRenewed(current, now)) this.current = merged(next, current);
    else {
      this.onEnd(current, now);
      this.current = next;
    }
  }

  /** Units of a window are valid until the window ends, even after their lease has ended. */
  private expiryOf({ end, windowEnd }: Lease): Millis {
    return this.isRenewable ? windowEnd : end;
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

/** A lease that also has the remaining units of an earlier lease, which was granted in the same window. */
function merged(lease: Lease, { left }: Lease): Lease {
  return { ...lease, left: lease.left + left, granted: lease.granted + left };
}
