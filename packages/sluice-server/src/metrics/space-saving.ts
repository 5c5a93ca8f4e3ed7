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

  constructor(size: number) {
    this.size = size;
  }

  see(name: string): void {
    const known = this.counts.get(name);
    if (known !== undefined) {
      known.count++;
      return;
    }
    if (this.counts.size < this.size) {
      this.counts.set(name, { count: 1, error: 0 });
      return;
    }
    let least = Infinity;
    let leastName = '';
    for (const [other, { count }] of this.counts) {
      if (count < least) {
        least = count;
        leastName = other;
      }
    }
    this.counts.delete(leastName);
    if (this.size > 0) this.counts.set(name, { count: least + 1, error: least });
  }

  top(most: number): Seen[] {
    return [...this.counts]
      .map(([name, { count, error }]) => ({ name, count, error }))
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }
}
