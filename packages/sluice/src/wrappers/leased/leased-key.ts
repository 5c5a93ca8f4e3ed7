/**
 * One key on one node, as a state machine. Which state applies depends mostly on the time, so no state is stored. A stored state
 * would need a timer to end it, and a stalled event loop delays timers. Instead, every hit reads the clock and determines the
 * state again, so an expired lease is never spent, however long the process was stalled (docs/decisions/0020-strict-leases.md).
 */
import type { Decision, PlainHit, MaybePromise, Millis } from '../../engine/contract.ts';
import { Forecast } from './forecast.ts';
import { HeldLeases } from './held-leases.ts';
import { KeyStore, type Node } from './key-store.ts';
import type { Lease } from './lease.ts';
import { SlowStoreQueue } from './slow-store-queue.ts';
import type { Terms } from './terms.ts';
import {
  ASK_AGAIN_JITTER,
  FETCH_AHEAD,
  MAX_ASK_AGAIN,
  MAX_WAITS,
  MIN_ASK_AGAIN,
  MIN_HITS,
  MIN_LOANS,
  MIN_RETURN,
} from './tuning.ts';

/** The state of the key when a hit arrives, as `stateFor` determines it. */
export type KeyState =
  /** The node holds enough units, and the hit spends them, or passes them on if it requests a lease. */
  | 'leased'
  /** The store granted less than was requested, so the hit is denied until it is time to call the store again. */
  | 'exhausted'
  /** A lease would not help this hit, so the store decides it. */
  | 'direct'
  /** A lease would expire before it arrives, so waiting hits are sent to the store together, as one hit. */
  | 'slow-store'
  /** A batch is on its way or is requested now, and the hit waits for it. */
  | 'fetching';

export class LeasedKey {
  /** Whether there was a hit since the last sweep. */
  isInUse = true;
  private readonly store: KeyStore;
  private readonly held: HeldLeases;
  private readonly forecast: Forecast;
  private slowStoreQueue: SlowStoreQueue | undefined;
  /**
   * The request for a batch, while it is in flight. Resolves with true if the store answers it. There is at most one such
   * request.
   */
  private fetching: Promise<boolean> | undefined;
  /** Until this instant, the node requests no batch, and denies hits for which it has no units. */
  private exhaustedUntil: Millis = -Infinity;
  /** The next batch is fetched when fewer units than this are left. */
  private fetchBelow = 0;
  /**
   * Whether the key's leases were ended. If so, a batch that arrives later is returned to the store or, after a reset of the row,
   * forgotten.
   */
  private ended: 'no' | 'returned' | 'forgotten' = 'no';
  private readonly terms: Terms;
  private readonly node: Node;

  constructor(key: string, terms: Terms, node: Node) {
    this.terms = terms;
    this.node = node;
    this.store = new KeyStore(key, terms, node);
    this.held = new HeldLeases(terms.isRenewable, (lease, now) => this.end(lease, now));
    this.forecast = new Forecast(terms, node.now());
  }

  take(hit: PlainHit): MaybePromise<Decision> {
    this.isInUse = true;
    this.forecast.demand.arrived += hit.cost;
    return this.decide(hit, 0);
  }

  peek(hit: PlainHit): MaybePromise<Decision> {
    const now = this.node.now();
    return this.held.currentCovers(hit.cost, now) ? this.allow(0, now) : this.store.ask(hit);
  }

  /** Puts units back into the current lease, or into the store if the units are older than the lease. */
  refund(hit: PlainHit): MaybePromise<Decision> {
    const now = this.node.now();
    if (this.held.refund(hit.cost, now)) return this.allow(0, now);
    this.exhaustedUntil = -Infinity;
    return this.store.ask(hit);
  }

  /**
   * Ends the leases and returns the remaining units. Resolves when the store has received them, including those of a batch that
   * was still in flight.
   */
  async close(): Promise<void> {
    this.ended = 'returned';
    const now = this.node.now();
    await Promise.all([this.fetching, ...this.held.all().map((lease) => this.store.giveBack(lease, now))]);
  }

  /** Ends the leases after the row was reset. Their units are not returned, because the row no longer counts these units. */
  forget(): void {
    this.ended = 'forgotten';
    this.held.clear();
  }

  endExpired(now: Millis): void {
    this.held.endExpired(now);
  }

  /**
   * Puts back units that were passed on to another node. Returns undefined if their lease is over, in which case the units are
   * lost.
   */
  takeBack(cost: number, expiry: Millis): Decision | undefined {
    const now = this.node.now();
    return this.held.takeBack(cost, expiry, now) ? this.allow(0, now) : undefined;
  }

  /** Decides on a hit. `waits` is the number of batches that the hit has already waited for. */
  private decide(hit: PlainHit, waits: number): MaybePromise<Decision> {
    const now = this.node.now();
    switch (this.stateFor(hit, waits, now)) {
      case 'leased':
        if (hit.isLease) return this.lend(hit.cost, now);
        if (this.held.spend(hit.cost, now) < this.fetchBelow) this.fetchAhead(now);
        return this.allow(hit.cost, now);
      case 'exhausted':
        return hit.isLease ? this.lend(this.held.lendable(now), now) : this.deny(now);
      case 'direct':
        return this.store.ask(hit);
      case 'slow-store':
        return this.queue().join(hit);
      case 'fetching':
        return this.fetch(hit.cost, now).then((isAnswered) =>
          isAnswered ? this.decide(hit, waits + 1) : this.store.ask(hit),
        );
    }
  }

  private stateFor({ cost, isLease }: PlainHit, waits: number, now: Millis): KeyState {
    if (isLease ? this.held.canLend(cost, now) : this.held.covers(cost, now)) return 'leased';
    if (this.ended !== 'no' || cost > this.terms.largestCost || (isLease && !this.terms.isLendable))
      return 'direct';
    if (now < this.exhaustedUntil) return 'exhausted';
    if (this.held.hasNext || waits === MAX_WAITS) return 'direct';
    const hits = isLease ? MIN_LOANS : MIN_HITS;
    if (!this.forecast.demand.reaches(hits * cost, now)) return 'direct';
    return this.store.isSlow ? 'slow-store' : 'fetching';
  }

  /** Passes on units of the current lease. They may be spent only until that lease ends. */
  private lend(units: number, now: Millis): Decision {
    if (units === 0) return this.deny(now);
    const at = this.held.lend(units, now);
    if (this.held.left < this.fetchBelow) this.fetchAhead(now);
    return { ...this.allow(units, now), at, expiresAfter: at - now };
  }

  private fetchAhead(now: Millis): void {
    if (this.fetching !== undefined || this.held.hasNext) return;
    if (this.ended !== 'no' || now < this.exhaustedUntil) return;
    if (this.forecast.demand.reaches(MIN_HITS, now) && !this.store.isSlow) void this.fetch(1, now);
  }

  private fetch(cost: number, now: Millis): Promise<boolean> {
    this.fetching ??= this.lease(cost, now)
      .catch(() => false)
      .finally(() => {
        this.fetching = undefined;
      });
    return this.fetching;
  }

  /**
   * Requests a lease. Resolves with true if the store answered. The lease begins at `askedAt`, before the store debits the units.
   */
  private async lease(cost: number, askedAt: Millis): Promise<boolean> {
    const { remaining } = this.store;
    const isBinding = this.forecast.isBinding(remaining, askedAt);
    const batch = this.forecast.batchFor(cost, isBinding, remaining, askedAt);
    const decision = await this.store.debit(batch, isBinding ? this.terms.plan : this.terms.longPlan);
    if (decision === undefined) return false;
    const { taken, retryAfter } = decision;
    const now = this.node.now();
    if (taken > 0) await this.receive(this.terms.leaseFrom(decision, askedAt), now);
    if (taken < batch) this.exhaust(retryAfter, now);
    this.fetchBelow = Math.min(this.forecast.demand.within(FETCH_AHEAD * this.node.roundTrip), taken / 2);
    return true;
  }

  /**
   * Accepts a lease that has arrived. Returns a promise only if the lease is returned to the store, because `close` waits for the
   * return.
   */
  private receive(lease: Lease, now: Millis): MaybePromise<void> {
    this.forecast.granted(lease);
    if (this.ended === 'returned') return this.store.giveBack(lease, now);
    if (this.ended === 'no') this.held.add(lease, now);
  }

  private exhaust(retryAfter: Millis, now: Millis): void {
    const unit = this.terms.bindingDuration * (1 + this.node.random() * ASK_AGAIN_JITTER);
    this.exhaustedUntil = now + Math.max(MIN_ASK_AGAIN * unit, Math.min(retryAfter, MAX_ASK_AGAIN * unit));
    this.forecast.fellShort(now);
  }

  /** Returns the rest of a lease to the store, if that is worth a call. */
  private end(lease: Lease, now: Millis): void {
    const isMissed = this.terms.hasWindows || this.forecast.isBinding(this.store.remaining, now);
    if (lease.left >= MIN_RETURN * lease.granted && isMissed) void this.store.giveBack(lease, now);
    else lease.left = 0;
  }

  private queue(): SlowStoreQueue {
    this.slowStoreQueue ??= new SlowStoreQueue(
      (hit) => this.store.ask(hit),
      ({ retryAfter }) => {
        const now = this.node.now();
        this.exhaustedUntil = now + Math.max(MIN_ASK_AGAIN * this.terms.bindingDuration, retryAfter);
        return this.deny(now);
      },
    );
    return this.slowStoreQueue;
  }

  private allow(taken: number, now: Millis): Decision {
    return this.store.decision(taken, this.held.units(now), now);
  }

  private deny(now: Millis): Decision {
    return this.store.decision(0, this.held.units(now), now, this.exhaustedUntil);
  }
}
