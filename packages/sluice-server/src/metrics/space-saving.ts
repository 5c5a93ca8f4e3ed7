/**
 * Who is seen most often, in bounded memory: space-saving (Metwally, Agrawal, El Abbadi 2005). A newcomer takes the place
 * of the least seen and inherits its count, so a count is never too low, and too high by at most `error`.
 */
export interface Seen {
  readonly name: string;
  readonly count: number;
  /** The count may be too high by so much. */
  readonly error: number;
}

export class SpaceSaving {
  private readonly size: number;
  private readonly counts = new Map<string, { count: number; error: number }>();
  private least = 0;
  /** All that had the least count when it was last looked for. Counts only grow, so nobody has joined them since. */
  private lowest: string[] = [];

  constructor(size: number) {
    this.size = size;
  }

  see(name: string): void {
    const known = this.counts.get(name);
    if (known !== undefined) known.count++;
    else if (this.counts.size < this.size) this.counts.set(name, { count: 1, error: 0 });
    else if (this.size > 0) this.replace(this.leastSeen(), name);
  }

  /** What counted the one goes on with the other. */
  private replace(old: string, name: string): void {
    const counter = this.counts.get(old) as { count: number; error: number };
    this.counts.delete(old);
    counter.error = counter.count;
    counter.count++;
    this.counts.set(name, counter);
  }

  private leastSeen(): string {
    for (;;) {
      const name = this.lowest.pop();
      if (name === undefined) this.lookForLeast();
      else if (this.counts.get(name)?.count === this.least) return name;
    }
  }

  private lookForLeast(): void {
    this.least = Infinity;
    for (const { count } of this.counts.values()) if (count < this.least) this.least = count;
    for (const [name, { count }] of this.counts) if (count === this.least) this.lowest.push(name);
  }

  top(most: number): Seen[] {
    return [...this.counts]
      .map(([name, { count, error }]) => ({ name, count, error }))
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }
}
