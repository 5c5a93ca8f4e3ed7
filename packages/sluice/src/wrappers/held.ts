/**
 * Which places this process holds, and until when. A release that failed may be repeated only while the place it gives
 * back is still counted: after its lease has ended, a release would free the place of another holder.
 */
import type { Hit, Millis, Plan } from '../contract.ts';

/** Places taken by one hit. */
interface Hold {
  /** When its lease ends, or a little earlier. */
  readonly until: Millis;
  /** Charged by the fallback; otherwise by the store. */
  readonly isFallback: boolean;
  left: number;
}

/** Clocks of two machines agree to one part in a thousand, and usually far better. */
const DRIFT = 0.999;

/** The shortest lease of the plan's policies that hold what they charge; 0 if none of them does. */
export function leaseOf({ policies }: Plan): Millis {
  let shortest = 0;
  for (let i = 0; i < policies.length; i++) {
    const { algorithm, window } = policies[i];
    if (algorithm.holds && (shortest === 0 || window < shortest)) shortest = window;
  }
  return shortest;
}

/** When the lease of a hit ends that was sent at this time. The store charges it later, so its lease ends no earlier. */
export function leaseEnd(plan: Plan, sent: Millis): Millis {
  return sent + leaseOf(plan) * DRIFT;
}

/** Names the row that a hit is about. */
export function rowIdOf({ plan, key }: Pick<Hit, 'plan' | 'key'>): string {
  return `${plan.name}\0${plan.signature}\0${key}`;
}

/** Holds by row, oldest first. */
export class Holds {
  private readonly rows = new Map<string, Hold[]>();

  get size(): number {
    return this.rows.size;
  }

  add(hit: Hit, sent: Millis, cost: number, isFallback: boolean): void {
    const now = performance.now();
    const id = rowIdOf(hit);
    const holds = this.rows.get(id) ?? [];
    while (holds.length > 0 && holds[0].until <= now) holds.shift();
    holds.push({ until: leaseEnd(hit.plan, sent), isFallback, left: cost });
    this.rows.set(id, holds);
    this.dropEnded(now);
  }

  /** Takes the cost off the oldest holds of this origin. Returns until when all of it is held; undefined if it is not known. */
  remove(hit: Hit, isFallback: boolean): Millis | undefined {
    const id = rowIdOf(hit);
    const now = performance.now();
    const holds = this.rows.get(id)?.filter(({ until }) => until > now);
    if (holds === undefined || hit.cost === 0) return undefined;
    let until = Infinity;
    let due = hit.cost;
    for (const hold of holds) {
      if (due <= 0) break;
      if (hold.isFallback !== isFallback) continue;
      until = Math.min(until, hold.until);
      const paid = Math.min(due, hold.left);
      hold.left -= paid;
      due -= paid;
    }
    const left = holds.filter((hold) => hold.left > 0);
    if (left.length > 0) this.rows.set(id, left);
    else this.rows.delete(id);
    return due > 0 ? undefined : until;
  }

  /** Whether the fallback has charged that much, and not got it back. */
  hasFallback(hit: Hit): boolean {
    if (hit.cost === 0) return false;
    const now = performance.now();
    let due = hit.cost;
    for (const { isFallback, until, left } of this.rows.get(rowIdOf(hit)) ?? [])
      if (isFallback && until > now) due -= left;
    return due <= 0;
  }

  forget(id: string): void {
    this.rows.delete(id);
  }

  clear(): void {
    this.rows.clear();
  }

  /** Looks at two rows each time one is added, in turn: rows whose holders never release go when their leases end. */
  private dropEnded(now: Millis): void {
    let looks = 2;
    for (const [id, holds] of this.rows) {
      if (looks-- === 0) return;
      this.rows.delete(id);
      if (holds.some(({ until }) => until > now)) this.rows.set(id, holds);
    }
  }
}

/** Resets remembered by row. Beyond that, everything up to the oldest one counts as reset: nothing is given back twice. */
const RESETS = 1000;

/** When rows were last reset. What was charged before must not be given back after: the row does not count it any more. */
export class Resets {
  private readonly times = new Map<string, Millis>();
  private before = -Infinity;

  add(id: string): void {
    this.times.delete(id);
    this.times.set(id, performance.now());
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
