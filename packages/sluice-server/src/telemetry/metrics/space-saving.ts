/**
 * Who is seen most often, in bounded memory: space-saving (Metwally, Agrawal, El Abbadi 2005). A newcomer takes the place
 * of the least seen and inherits its count, so a count is never too low, and too high by at most `error`.
 */
import { detachedCopy } from '../../core/detached-copy.ts';

export interface Seen {
  /** What was seen. */
  readonly name: string;
  /** How often, about. */
  readonly count: number;
  /** The count may be too high by so much. */
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
  /** All that had the least count when it was last looked for. Counts only grow, so nobody has joined them since. */
  private lowest: Counter[] = [];

  constructor(size: number) {
    this.size = size;
  }

  /** `times`: that often at once. */
  see(given: string, times = 1): void {
    // Copied before it is looked for: what is remembered is hashed once.
    const name = detachedCopy(given);
    const known = this.counters.get(name);
    if (known !== undefined) known.count += times;
    else if (this.counters.size < this.size) this.add({ name, count: times, error: 0 });
    else if (this.size > 0) this.replace(this.leastSeen(), name, times);
  }

  /** What counted another goes on with this name. */
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
      if (counter === undefined) this.lookForLeast();
      else if (counter.count === this.least) return counter;
    }
  }

  private lookForLeast(): void {
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
