/**
 * Records the places that this process holds, and until when. A failed release may be repeated only while the store still counts
 * the place, because after its lease has ended, a release would free the place of another holder.
 */
import { systemClock } from '../../internal/clock.ts';
import { type Decision, type Hit, leaseOf, type Millis, type Plan } from '../../engine/contract.ts';
import { costAt, isHolding } from '../../engine/charge.ts';
import { copyOf, isCacheable } from '../shared/cacheable-key.ts';

/** The places that one hit took. */
interface Hold {
  /** When the lease ends, or slightly earlier. */
  readonly until: Millis;
  left: number;
}

/** Holds of one row, oldest first. Holds that the store charged are separate from those of the fallback. */
interface Row {
  readonly store: Hold[];
  readonly fallback: Hold[];
}

/** Fraction of a lease that a process relies on. The clocks of two machines may differ in rate by one part in a thousand. */
const CLOCK_ACCURACY = 0.999;

/**
 * The earliest time at which the lease of a hit that was sent at `sent` can end. The store charges the hit after `sent`, so
 * the actual lease ends later.
 */
export function leaseEnd(plan: Plan, sent: Millis): Millis {
  return sent + leaseOf(plan) * CLOCK_ACCURACY;
}

/** Identifies the row of a hit. Plans with the same name and signature share their rows. */
export function rowIdOf({ plan, key }: Pick<Hit, 'plan' | 'key'>): string {
  return `${plan.name}\0${plan.signature}\0${key}`;
}

/** The number of places that a hit takes, releases or renews. */
export function placesIn({ plan, cost }: Hit): number {
  return costAt(cost, plan.policies.findIndex(isHolding));
}

/** The number of places that a decision took. */
export function placesTaken({ plan }: Hit, { policies, taken }: Decision): number {
  // A fallback may have decided with other policies. If the fallback's decision has no policy at this index, the decision's own `taken` is used.
  return policies[plan.policies.findIndex(isHolding)]?.taken ?? taken;
}

/** Expired leases are removed once the number of new holds reaches this value or the number of rows, whichever is greater. */
const SWEEP_AFTER = 1000;

/** Maximum number of rows. Further rows are not recorded, so failed releases of their places are not repeated. */
const MAX_ROWS = 100_000;

/** The rows of all plans that have the same name and signature, by key. */
type Rows = Map<string, Row>;

/** All places that this process holds, by row. */
export class HeldPlaces {
  private readonly groups = new Map<string, Rows>();
  /** The same rows by plan, so that the id of a plan's group is built only once. */
  private byPlan = new WeakMap<Plan, Rows>();
  private rows = 0;
  /** Holds added since the last sweep. */
  private addedSinceSweep = 0;

  get size(): number {
    return this.rows;
  }

  add({ plan, key }: Hit, sent: Millis, cost: number, isFallback: boolean): void {
    const group = this.groupOf(plan);
    let row = group.get(key);
    if (row === undefined) {
      if (this.rows >= MAX_ROWS || !isCacheable(key)) return;
      row = { store: [], fallback: [] };
      group.set(copyOf(key), row);
      this.rows++;
    }
    queueOf(row, isFallback).push({ until: leaseEnd(plan, sent), left: cost });
    if (++this.addedSinceSweep > Math.max(SWEEP_AFTER, this.rows)) this.sweep();
  }

  /**
   * Removes places from the oldest holds. Returns the time until which all of them are held, or undefined if some are not recorded.
   */
  remove(hit: Hit, isFallback: boolean): Millis | undefined {
    const { plan, key } = hit;
    const cost = placesIn(hit);
    const group = this.groupOf(plan);
    const row = group.get(key);
    if (row === undefined || cost === 0) return undefined;
    const holds = queueOf(row, isFallback);
    dropEnded(holds, systemClock.now());
    let until = Infinity;
    let due = cost;
    while (due > 0 && holds.length > 0) {
      const [oldest] = holds;
      const paid = Math.min(due, oldest.left);
      until = Math.min(until, oldest.until);
      oldest.left -= paid;
      due -= paid;
      if (oldest.left === 0) holds.shift();
    }
    this.dropEmpty(group, key, row);
    return due > 0 ? undefined : until;
  }

  /** Whether this process holds as many places of the fallback as the hit releases. */
  hasFallback(hit: Hit): boolean {
    const { plan, key } = hit;
    const cost = placesIn(hit);
    const holds = this.groupOf(plan).get(key)?.fallback;
    if (holds === undefined || holds.length === 0 || cost === 0) return false;
    dropEnded(holds, systemClock.now());
    return holds.reduce((sum, { left }) => sum + left, 0) >= cost;
  }

  forget({ plan, key }: Hit): void {
    if (this.groupOf(plan).delete(key)) this.rows--;
  }

  clear(): void {
    this.groups.clear();
    this.byPlan = new WeakMap();
    this.rows = 0;
  }

  private groupOf(plan: Plan): Rows {
    const known = this.byPlan.get(plan);
    if (known !== undefined) return known;
    const id = `${plan.name}\0${plan.signature}`;
    const group: Rows = this.groups.get(id) ?? new Map();
    this.groups.set(id, group);
    this.byPlan.set(plan, group);
    return group;
  }

  /** Removes holds whose leases have ended without a release. */
  private sweep(): void {
    this.addedSinceSweep = 0;
    const now = systemClock.now();
    for (const [id, group] of this.groups) {
      for (const [key, row] of group) {
        dropEnded(row.store, now);
        dropEnded(row.fallback, now);
        this.dropEmpty(group, key, row);
      }
      if (group.size === 0) this.groups.delete(id);
    }
    // A plan must not find a group that was removed.
    this.byPlan = new WeakMap();
  }

  private dropEmpty(group: Rows, key: string, { store, fallback }: Row): void {
    if (store.length + fallback.length === 0 && group.delete(key)) this.rows--;
  }
}

function queueOf(row: Row, isFallback: boolean): Hold[] {
  return isFallback ? row.fallback : row.store;
}

function dropEnded(holds: Hold[], now: Millis): void {
  let ended = 0;
  while (ended < holds.length && holds[ended].until <= now) ended++;
  if (ended > 0) holds.splice(0, ended);
}

/**
 * Maximum number of resets that are remembered. When the oldest reset is dropped, all rows count as reset at the time of that
 * reset, so that nothing is returned twice.
 */
const MAX_RESETS = 1000;

/**
 * Records when rows were last reset. A charge that was made before a reset must not be refunded after the reset, because the row no
 * longer counts the charge.
 */
export class Resets {
  private readonly times = new Map<string, Millis>();
  /** All rows count as reset at this time. */
  private allBefore = -Infinity;

  add(id: string): void {
    this.times.delete(id);
    this.times.set(id, systemClock.now());
    if (this.times.size <= MAX_RESETS) return;
    const [[oldest, time]] = this.times;
    this.times.delete(oldest);
    this.allBefore = time;
  }

  /** Whether the row was reset at or after this time. */
  since(id: string, time: Millis): boolean {
    return time <= this.allBefore || time <= (this.times.get(id) ?? -Infinity);
  }
}
