/** What passed, and whether it was too much: never more than `burst` and what `rate` brings, in any window. */

interface Entry {
  /** By this process's clock: decided not before `asked` and not after `told`. */
  readonly asked: number;
  readonly told: number;
  readonly units: number;
}

export class Book {
  private entries: Entry[] = [];
  private readonly burst: number;
  private readonly rate: number;

  /** `rate`: units a millisecond. */
  constructor(burst: number, rate: number) {
    this.burst = burst;
    this.rate = rate;
  }

  add(asked: number, told: number, units: number): void {
    this.entries.push({ asked, told, units });
  }

  get size(): number {
    return this.entries.length;
  }

  /**
   * Units above the bound, in the worst of all windows; and forgets.
   *
   * In the order of the answers, entries i to j were decided between the earliest `asked` from i on and the `told` of j,
   * so their units are at most burst + rate × that span.
   */
  excess(): number {
    const entries = this.entries.sort((a, b) => a.told - b.told);
    this.entries = [];
    const earliest = new Float64Array(entries.length + 1).fill(Infinity);
    for (let i = entries.length - 1; i >= 0; i--)
      earliest[i] = Math.min(earliest[i + 1], entries[i]?.asked ?? Infinity);
    let [sum, least, worst] = [0, Infinity, 0];
    for (const [i, { told, units }] of entries.entries()) {
      least = Math.min(least, sum - this.rate * earliest[i]);
      sum += units;
      worst = Math.max(worst, sum - this.rate * told - least - this.burst);
    }
    // Float error of sums of thousands.
    return worst < 1e-6 ? 0 : worst;
  }
}
