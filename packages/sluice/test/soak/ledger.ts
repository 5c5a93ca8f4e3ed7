/**
 * Records the units that passed, and determines whether more than `burst` plus the units that `rate` replenishes passed in any
 * window.
 */

/** Milliseconds by a monotonic clock, which is the same in all processes of this machine. */
export const steady = (): number => Number(process.hrtime.bigint()) / 1e6;

/** One instant by two clocks. Servers use the machine's clock, which may be set during a run. */
export interface Instant {
  readonly steady: number;
  readonly machine: number;
}

export const instant = (): Instant => ({ steady: steady(), machine: Date.now() });
/** An instant for stores that decide by the steady clock. */
export const steadily = (time: number): Instant => ({ steady: time, machine: time });

/** A period in which a store lost its rows, by the steady clock. `to` is Infinity until the period is over. */
export interface Loss {
  readonly from: number;
  to: number;
}

export interface LedgerOptions {
  readonly burst: number;
  /** Units per millisecond. */
  readonly rate: number;
  /** Milliseconds by which the store's clock may lag; default 0. */
  readonly behind?: number;
  /** Milliseconds by which a reading of the clock may be too low, because `Date.now` rounds down; default 0. */
  readonly grain?: number;
  /** Milliseconds for which nodes may spend units that they took before a loss; default 0. */
  readonly kept?: number;
  /** Milliseconds after which all refunds are known; default 2000. More recent entries are not checked. */
  readonly late?: number;
}

/** Maximum number of entries. Their memory is allocated from the start, so that the ledger does not look like a leak. */
const CAPACITY = 20_000;
/** Number of entries that are kept free for checks that are in flight when the ledger becomes full. */
const RESERVE = 500;
/** Milliseconds by which other processes may report late. */
const LATE = 15_000;
const [ASKED, TOLD, FROM, TO, UNITS, UNKNOWN, WIDTH] = [0, 1, 2, 3, 4, 5, 6];
const [GIVEN_ASKED, GIVEN_TOLD, GIVEN_UNITS, GIVEN_WIDTH] = [0, 1, 2, 3];

export class Ledger {
  private readonly numbers = new Float64Array(CAPACITY * WIDTH);
  private size = 0;
  private readonly given = new Float64Array(CAPACITY * GIVEN_WIDTH);
  private givenSize = 0;
  private readonly options: Required<LedgerOptions>;

  constructor(options: LedgerOptions) {
    this.options = { behind: 0, grain: 0, kept: 0, late: 2000, ...options };
  }

  get isFull(): boolean {
    return Math.max(this.size, this.givenSize) >= CAPACITY - RESERVE;
  }

  /**
   * Records units that passed `delay` after a decision, which was made between the two instants.
   * If the clock was set between them, the decision may have used the time before or after the change.
   * `unknown`: units of other nodes that the deciding node could not know about.
   */
  add(asked: Instant, told: Instant, units: number, delay = 0, unknown = 0): void {
    if (this.size === CAPACITY) throw new Error('a full ledger must be checked first');
    const { behind, grain } = this.options;
    const took = told.steady - asked.steady;
    const from = Math.min(asked.machine, told.machine - took) - behind;
    const to = Math.max(told.machine, asked.machine + took) + grain;
    // An entry whose turn comes after a loss is not checked, because it was charged to the row that was lost.
    this.numbers.set(
      [asked.steady, told.steady + delay, from + delay, to + delay, units, unknown],
      WIDTH * this.size++,
    );
  }

  /** Records units that were, or may have been, given back between these times of the steady clock. */
  giveBack(asked: number, told: number, units: number): void {
    if (this.givenSize === CAPACITY) throw new Error('a full ledger must be checked first');
    this.given.set([asked, told, units], GIVEN_WIDTH * this.givenSize++);
  }

  /**
   * Returns the units above the bound in the worst of all windows, and clears the ledger.
   * A store that lost its rows may admit another burst, so only windows between two losses are checked.
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
    // Smaller values are float errors of the sums.
    return worst < 1e-6 ? 0 : worst;
  }

  /** Keeps recent refunds, because units that passed after a refund may be reported after the ledger was cleared. */
  private keepGiven(since: number): void {
    let kept = 0;
    for (let one = 0; one < this.givenSize; one++) {
      if (this.given[GIVEN_WIDTH * one + GIVEN_TOLD] < since) continue;
      this.given.copyWithin(GIVEN_WIDTH * kept++, GIVEN_WIDTH * one, GIVEN_WIDTH * (one + 1));
    }
    this.givenSize = kept;
  }

  /**
   * In the order of the answers, entries i to j were decided between two times: the earliest `from` of i and all later entries,
   * and the latest `to` of j and all earlier entries. So their units are at most burst + rate × that duration, plus all units
   * that may have been given back in it, plus the units that the node of entry j could not know about.
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
    // Units certainly given back before the window, and units possibly given back before its end.
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
      worst = Math.max(worst, sum - until - rate * latest - least - burst - number(i, UNKNOWN));
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
