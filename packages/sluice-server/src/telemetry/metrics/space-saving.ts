/**
 * Finds the most frequent names in bounded memory, with the space-saving algorithm (Metwally, Agrawal, El Abbadi 2005). A new
 * name replaces the least frequent one and inherits its count. So a count is never too low, and it is too high by at most
 * `error`.
 */
import { detachedCopy } from '../../core/detached-copy.ts';

export interface Seen {
  /** The name that was counted. */
  readonly name: string;
  /** Estimate of how often the name occurred. */
  readonly count: number;
  /** Maximum by which `count` may be too high. */
  readonly error: number;
}

interface Counter {
  name: string;
  count: number;
  error: number;
}

export class SpaceSaving {
  private readonly size: number;
  private readonly counters = new Map<string, Counter>();
  private least = 0;
  /**
   * Counters that had the lowest count when the lowest count was last determined. Counts only grow, so no other counter can have
   * that count.
   */
  private lowest: Counter[] = [];

  constructor(size: number) {
    this.size = size;
  }

  /** Adds `times` to the count of a name. */
  see(given: string, times = 1): void {
    // The name is copied before the lookup, so that V8 caches its hash in the copy, which is the string that is stored.
    const name = detachedCopy(given);
    const known = this.counters.get(name);
    if (known !== undefined) known.count += times;
    else if (this.counters.size < this.size) this.add({ name, count: times, error: 0 });
    else if (this.size > 0) this.replace(this.leastSeen(), name, times);
  }

  /** Reassigns a counter to another name. */
  private replace(counter: Counter, name: string, times: number): void {
    this.counters.delete(counter.name);
    counter.name = name;
    counter.error = counter.count;
    counter.count += times;
    this.add(counter);
  }

  private add(counter: Counter): void {
    this.counters.set(counter.name, counter);
  }

  private leastSeen(): Counter {
    for (;;) {
      const counter = this.lowest.pop();
      if (counter === undefined) this.findLeast();
      else if (counter.count === this.least) return counter;
    }
  }

  private findLeast(): void {
    this.least = Infinity;
    for (const { count } of this.counters.values()) if (count < this.least) this.least = count;
    for (const counter of this.counters.values()) if (counter.count === this.least) this.lowest.push(counter);
  }

  top(most: number): Seen[] {
    return [...this.counters.values()]
      .map((counter) => ({ ...counter }))
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }
}
