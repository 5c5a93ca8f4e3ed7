/**
 * Which places this process holds, and until when. A release that failed may be repeated only while the place it gives
 * back is still counted: after its lease has ended, a release would free the place of another holder.
 */
import { systemClock } from '../../internal/clock.ts';
import { type Hit, leaseOf, type Millis, type Plan } from '../../engine/contract.ts';
import { copyOf, isCacheable } from '../shared/cacheable-key.ts';

/** Places taken by one hit. */
interface Hold {
  /** When its lease ends, or a little earlier. */
  readonly until: Millis;
  left: number;
}

/** Holds of one row, oldest first: those that the store charged, and those that the fallback did. */
interface Row {
  readonly store: Hold[];
  readonly fallback: Hold[];
}

/** Clocks of two machines agree to one part in a thousand, and usually far better. */
const DRIFT = 0.999;

/** When the lease of a hit ends that was sent at this time. The store charges it later, so its lease ends no earlier. */
export function leaseEnd(plan: Plan, sent: Millis): Millis {
  return sent + leaseOf(plan) * DRIFT;
}

/** Names the row that a hit is about. */
export function rowIdOf({ plan, key }: Pick<Hit, 'plan' | 'key'>): string {
  return `${plan.name}\0${plan.signature}\0${key}`;
}

/** Rows are looked at for leases that have ended after this many holds, or after as many as there are rows. */
const SWEEP = 1000;

/** Rows beyond this are not recorded: releases of their places are not repeated. */
const MOST_ROWS = 100_000;

/** Rows of the plans with one name and signature, by key. */
type Rows = Map<string, Row>;

/** What this process holds, by row. */
export class Holds {
  private readonly groups = new Map<string, Rows>();
  /** The same groups: a name is put together once for each plan. */
  private byPlan = new WeakMap<Plan, Rows>();
  private rows = 0;
  /** Holds added since the last sweep. */
  private added = 0;

  get size(): number {
    return this.rows;
  }

  add({ plan, key }: Hit, sent: Millis, cost: number, isFallback: boolean): void {
    const group = this.groupOf(plan);
    let row = group.get(key);
    if (row === undefined) {
      if (this.rows >= MOST_ROWS || !isCacheable(key)) return;
      row = { store: [], fallback: [] };
      group.set(copyOf(key), row);
      this.rows++;
    }
    queueOf(row, isFallback).push({ until: leaseEnd(plan, sent), left: cost });
    if (++this.added > Math.max(SWEEP, this.rows)) this.sweep();
  }

  /** Takes the cost off the oldest holds of this origin. Returns until when all of it is held; undefined if it is not known. */
  remove({ plan, key, cost }: Hit, isFallback: boolean): Millis | undefined {
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

  /** Whether the fallback has charged that much, and not got it back. */
  hasFallback({ plan, key, cost }: Hit): boolean {
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

  /** Forgets what holders have never released. */
  private sweep(): void {
    this.added = 0;
    const now = systemClock.now();
    for (const [id, group] of this.groups) {
      for (const [key, row] of group) {
        dropEnded(row.store, now);
        dropEnded(row.fallback, now);
        this.dropEmpty(group, key, row);
      }
      if (group.size === 0) this.groups.delete(id);
    }
    // A plan must not find a group that is not listed any more.
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

/** Resets remembered by row. Beyond that, everything up to the oldest one counts as reset: nothing is given back twice. */
const RESETS = 1000;

/** When rows were last reset. What was charged before must not be given back after: the row does not count it any more. */
export class Resets {
  private readonly times = new Map<string, Millis>();
  private before = -Infinity;

  add(id: string): void {
    this.times.delete(id);
    this.times.set(id, systemClock.now());
    if (this.times.size <= RESETS) return;
    const [[oldest, time]] = this.times;
    this.times.delete(oldest);
    this.before = time;
  }

  /** Whether the row was reset at this time or later. */
  since(id: string, time: Millis): boolean {
    return time <= this.before || time <= (this.times.get(id) ?? -Infinity);
  }
}
