/**
 * Determines fault-free periods, in which a store must answer because no fault affects it and the machine does not delay this
 * process.
 */
import { steady } from './ledger.ts';
import type { FaultInjector } from './fault-injection.ts';

/** Milliseconds that clients may take to reconnect after a fault or a stall of the machine. */
const RECOVERY = 1500;
/** Milliseconds, a quarter of the shortest deadline. A timer that is later than this means that the machine stalled. */
const LATE = 50;
const TICK = 10;
/** A tenth of a second, in milliseconds. */
const TENTH = 100;

/** Counts the tenths of a second in which something happened. */
export class Tenths {
  count = 0;
  private last = -1;

  add(at: number): void {
    const tenth = Math.floor(at / TENTH);
    if (tenth !== this.last) this.count++;
    this.last = tenth;
  }
}

/**
 * Minimum observed time, in tenths of a second. In a shorter time, other tests on the same machine may have delayed the store.
 */
const MIN_OBSERVED = 150;

/**
 * Whether a store was unavailable too often. A few times are tolerated, because a delay elsewhere on the machine may open a
 * breaker, which takes a while to close.
 */
export const isUnavailableTooOften = (missed: number, observed: number): boolean =>
  observed > MIN_OBSERVED && missed > 5 + observed / 100;

export class FaultFree {
  private due = steady() + TICK;
  private lastLate = -Infinity;
  private totalDelay = 0;
  private readonly timer = setInterval(() => {
    this.checkTimer();
    this.totalDelay += this.overdue();
    this.due = steady() + TICK;
  }, TICK);
  private readonly causes: readonly (readonly [store: string, injector: FaultInjector])[];

  /** `causes` lists the injectors whose faults affect a store. There may be several. */
  constructor(causes: FaultFree['causes']) {
    this.causes = causes;
  }

  /** Whether the store had to answer a request that was made at this time of the steady clock. */
  isFaultFree(store: string, asked = steady()): boolean {
    this.checkTimer();
    if (asked < this.lastLate + RECOVERY) return false;
    return this.causes.every(
      ([name, { faultFreeSince }]) => name !== store || asked >= faultFreeSince + RECOVERY,
    );
  }

  /** Milliseconds by which timers of this process have been late so far. */
  late(): number {
    return this.totalDelay + this.overdue();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Notices a stall even before the timer fires. */
  private checkTimer(): void {
    if (this.overdue() > LATE) this.lastLate = steady();
  }

  private overdue(): number {
    return Math.max(0, steady() - this.due);
  }
}
