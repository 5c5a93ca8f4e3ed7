/** Whether a store had any reason not to answer: a fault of its own, or a machine that keeps everybody waiting. */
import { steady } from './book.ts';
import type { Trouble } from './trouble.ts';

/** Milliseconds in which clients may still find their way back: after a fault, and after the machine stood still. */
const AFTER = 1500;
/** Milliseconds. A timer that is so late was kept waiting by the machine, a quarter of the shortest deadline. */
const LATE = 50;
const TICK = 10;
/** Milliseconds. */
const TENTH = 100;

/** How many tenths of a second there were in which something happened. */
export class Tenths {
  count = 0;
  private last = -1;

  add(at: number): void {
    const tenth = Math.floor(at / TENTH);
    if (tenth !== this.last) this.count++;
    this.last = tenth;
  }
}

/** Tenths. Among all other tests a store may be late although this process is not: less than a quarter of a minute says little. */
const SHORT = 150;

/** A breaker that has opened needs some of them to close; whether it had to open, a machine that is late elsewhere may decide. */
export const isTooMuch = (missed: number, fair: number): boolean => fair > SHORT && missed > 5 + fair / 100;

export class Weather {
  private due = steady() + TICK;
  private lastLate = -Infinity;
  private sum = 0;
  private readonly timer = setInterval(() => {
    this.look();
    this.sum += this.overdue();
    this.due = steady() + TICK;
  }, TICK);
  private readonly reasons: readonly (readonly [store: string, trouble: Trouble])[];

  /** `reasons`: whose faults a store feels; there may be several. */
  constructor(reasons: Weather['reasons']) {
    this.reasons = reasons;
  }

  /** Whether what this store was asked at that time of the steady clock should have been answered by now. */
  isFair(store: string, asked = steady()): boolean {
    this.look();
    if (asked < this.lastLate + AFTER) return false;
    return this.reasons.every(([name, { calmSince }]) => name !== store || asked >= calmSince + AFTER);
  }

  /** Milliseconds, so far, for which this process kept timers waiting. */
  late(): number {
    return this.sum + this.overdue();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Also before the timer's turn has come. */
  private look(): void {
    if (this.overdue() > LATE) this.lastLate = steady();
  }

  private overdue(): number {
    return Math.max(0, steady() - this.due);
  }
}
