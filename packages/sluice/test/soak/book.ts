/** What passed, and whether it was too much: never more than `burst` and what `rate` brings, in any window. */

/** Milliseconds by a clock that nobody can set, the same in all processes of this machine. */
export const steady = (): number => Number(process.hrtime.bigint()) / 1e6;

/** One instant by two clocks. Servers tell the time by the machine's, which may be set while they count. */
export interface Instant {
  readonly steady: number;
  readonly machine: number;
}

export const instant = (): Instant => ({ steady: steady(), machine: Date.now() });
/** For stores that decide by the steady clock. */
export const steadily = (time: number): Instant => ({ steady: time, machine: time });

/** While a store lost what it knew, by the steady clock. `to` is Infinity until it is over. */
export interface Loss {
  readonly from: number;
  to: number;
}

export interface BookOptions {
  readonly burst: number;
  /** Units a millisecond. */
  readonly rate: number;
  /** Milliseconds that the store's idea of the time may be behind; default 0. */
  readonly behind?: number;
  /** Milliseconds by which a reading of the clock may be too low: `Date.now` cuts off. Default 0. */
  readonly grain?: number;
  /** Milliseconds for which units may still be spent that were taken before a loss; default 0. */
  readonly kept?: number;
  /** Milliseconds after which all is known that was given back; default 2000. What is younger is not judged. */
  readonly late?: number;
}

/** Entries. Their numbers have room from the beginning, so that the book does not look like a leak. */
const ROOM = 20_000;
/** Some may be on their way to a book that is not full yet. */
const SPARE = 500;
/** Milliseconds by which processes may tell of what passed too late. */
const LATE = 15_000;
const [ASKED, TOLD, FROM, TO, UNITS, UNHEARD, WIDTH] = [0, 1, 2, 3, 4, 5, 6];
const [GIVEN_ASKED, GIVEN_TOLD, GIVEN_UNITS, GIVEN_WIDTH] = [0, 1, 2, 3];

export class Book {
  private readonly numbers = new Float64Array(ROOM * WIDTH);
  private size = 0;
  private readonly given = new Float64Array(ROOM * GIVEN_WIDTH);
  private givenSize = 0;
  private readonly options: Required<BookOptions>;

  constructor(options: BookOptions) {
    this.options = { behind: 0, grain: 0, kept: 0, late: 2000, ...options };
  }

  get isFull(): boolean {
    return Math.max(this.size, this.givenSize) >= ROOM - SPARE;
  }

  /**
   * Units that passed `delay` after a decision that was made between the two instants.
   * If the clock was set between them, the decision may have seen the time before and after.
   * `unheard`: units of others that whoever decided could not know of.
   */
  add(asked: Instant, told: Instant, units: number, delay = 0, unheard = 0): void {
    if (this.size === ROOM) throw new Error('a full book must be settled first');
    const { behind, grain } = this.options;
    const took = told.steady - asked.steady;
    const from = Math.min(asked.machine, told.machine - took) - behind;
    const to = Math.max(told.machine, asked.machine + took) + grain;
    // A loss between the decision and the turn says nothing of the next window: it was charged to a row that is gone.
    this.numbers.set(
      [asked.steady, told.steady + delay, from + delay, to + delay, units, unheard],
      WIDTH * this.size++,
    );
  }

  /** Units that were given back between these times of the steady clock, or may have been. */
  giveBack(asked: number, told: number, units: number): void {
    if (this.givenSize === ROOM) throw new Error('a full book must be settled first');
    this.given.set([asked, told, units], GIVEN_WIDTH * this.givenSize++);
  }

  /**
   * Units above the bound, in the worst of all windows; and forgets.
   * A store that lost its rows lets a burst more pass, so windows lie between two losses.
   */
  excess(losses: readonly Loss[] = [], now = steady()): number {
    const told = (entry: number) => this.numbers[WIDTH * entry + TOLD];
    const all = sorted(this.size, told);
    const order = all.filter((entry) => told(entry) <= now - this.options.late);
    const of = (which: number) => (one: number) => this.given[GIVEN_WIDTH * one + which];
    const given: Given = {
      units: of(GIVEN_UNITS),
      asked: of(GIVEN_ASKED),
      told: of(GIVEN_TOLD),
      byAsked: sorted(this.givenSize, of(GIVEN_ASKED)),
      byTold: sorted(this.givenSize, of(GIVEN_TOLD)),
    };
    const last = all.length === 0 ? -Infinity : told(all[all.length - 1]);
    let [worst, at, start] = [0, 0, -Infinity];
    for (const { from, to } of [...losses, { from: Infinity, to: Infinity }]) {
      const first = at;
      while (at < order.length && told(order[at]) <= from) at++;
      const within = order
        .subarray(first, at)
        .filter((entry) => this.numbers[WIDTH * entry + ASKED] >= start);
      worst = Math.max(worst, this.excessOf(within, given));
      start = to + this.options.kept;
    }
    this.size = 0;
    this.keepGiven(last - LATE);
    // Float error of sums of thousands.
    return worst < 1e-6 ? 0 : worst;
  }

  /** What passed because of it may be told of after the rest was forgotten. */
  private keepGiven(since: number): void {
    let kept = 0;
    for (let one = 0; one < this.givenSize; one++) {
      if (this.given[GIVEN_WIDTH * one + GIVEN_TOLD] < since) continue;
      this.given.copyWithin(GIVEN_WIDTH * kept++, GIVEN_WIDTH * one, GIVEN_WIDTH * (one + 1));
    }
    this.givenSize = kept;
  }

  /**
   * In the order of the answers, entries i to j were decided between the earliest `from` from i on and the latest `to` up
   * to j, so their units are at most burst + rate × that span, and what was given back in it: all that may have been;
   * and what j could not know of.
   */
  private excessOf(order: Uint32Array, given: Given): number {
    const { burst, rate } = this.options;
    const number = (i: number, which: number) => this.numbers[WIDTH * order[i] + which];
    const earliest = new Float64Array(order.length + 1).fill(Infinity);
    const begin = new Float64Array(order.length + 1).fill(Infinity);
    for (let i = order.length - 1; i >= 0; i--) {
      earliest[i] = Math.min(earliest[i + 1], number(i, FROM));
      begin[i] = Math.min(begin[i + 1], number(i, ASKED));
    }
    let [sum, least, latest, worst] = [0, Infinity, -Infinity, 0];
    // Given back for sure before the window, and maybe before its end.
    let [before, beforeAt, until, untilAt] = [0, 0, 0, 0];
    for (let i = 0; i < order.length; i++) {
      for (; beforeAt < given.byTold.length && given.told(given.byTold[beforeAt]) < begin[i]; beforeAt++)
        before += given.units(given.byTold[beforeAt]);
      least = Math.min(least, sum - before - rate * earliest[i]);
      for (
        ;
        untilAt < given.byAsked.length && given.asked(given.byAsked[untilAt]) <= number(i, TOLD);
        untilAt++
      )
        until += given.units(given.byAsked[untilAt]);
      latest = Math.max(latest, number(i, TO));
      sum += number(i, UNITS);
      worst = Math.max(worst, sum - until - rate * latest - least - burst - number(i, UNHEARD));
    }
    return worst;
  }
}

interface Given {
  units(one: number): number;
  asked(one: number): number;
  told(one: number): number;
  readonly byAsked: Uint32Array;
  readonly byTold: Uint32Array;
}

function sorted(count: number, by: (index: number) => number): Uint32Array {
  return Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) => by(a) - by(b));
}
