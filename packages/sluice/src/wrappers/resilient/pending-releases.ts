/** What is owed to a store that could not be asked: give-backs that are tried again until they are too late. */
import { systemClock } from '../../internal/clock.ts';
import type { Hit, Millis } from '../../engine/contract.ts';
import { quietClock } from '../shared/quiet-clock.ts';

/** A give-back that has not reached the store. */
export interface Debt {
  /** The row that it is owed to. */
  readonly id: string;
  /** The hit that failed, or whose charge is undone: for probes. */
  readonly hit: Hit;
  /** What has to be sent now; nothing when it is too late. */
  due(now: Millis): readonly Hit[];
  /** When the lease of what is released ends. */
  readonly until: Millis;
  /** How much is released; undefined where it is not the release of a place that a caller held. */
  readonly released?: number | undefined;
}

export interface Debts {
  owe(debt: Debt): void;
  /** Tries all of them now. */
  pay(): void;
  /** Removes a release of this row and cost, and returns it. */
  find(id: string, cost: number): Debt | undefined;
  close(): void;
  readonly size: number;
}

/** Debts remembered at most; one more is dropped, and its place is free again when its lease ends. */
const MOST = 10_000;
/** How often they are tried. */
const EVERY: Millis = 100;

/** `attempt` tries one debt and returns false if it has to wait. */
export function debtsTo(attempt: (debt: Debt) => boolean): Debts {
  let owed: Debt[] = [];
  let stop: (() => void) | undefined;
  let closed = false;

  function schedule(): void {
    if (owed.length > 0 && !closed) stop ??= quietClock.after(EVERY, ring);
  }

  function ring(): void {
    stop = undefined;
    pay();
  }

  function pay(): void {
    const now = systemClock.now();
    const all = owed.filter((debt) => debt.due(now).length > 0);
    owed = [];
    const left = all.filter((debt) => !attempt(debt));
    owed = [...left, ...owed];
    schedule();
  }

  return {
    owe(debt) {
      if (closed || owed.length >= MOST) return;
      owed.push(debt);
      schedule();
    },
    pay,
    find(id, cost) {
      const index = owed.findIndex((debt) => debt.id === id && debt.released === cost);
      return index < 0 ? undefined : owed.splice(index, 1)[0];
    },
    close() {
      closed = true;
      owed = [];
      stop?.();
      stop = undefined;
    },
    get size() {
      return owed.length;
    },
  };
}
