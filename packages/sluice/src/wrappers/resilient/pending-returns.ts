/** Refunds and releases that have not reached the store. They are retried until they would come too late. */
import { systemClock } from '../../internal/clock.ts';
import type { Hit, Millis } from '../../engine/contract.ts';
import { quietClock } from '../shared/quiet-clock.ts';

/** Something to give back to the store. */
export interface PendingReturn {
  /** The row that it belongs to, as `rowIdOf` names it. */
  readonly id: string;
  /** The hit that failed, or whose charge is undone. It selects the breaker to ask. */
  readonly hit: Hit;
  /** The hits to send now; none if it is too late. */
  due(now: Millis): readonly Hit[];
  /** When the lease of the released places ends. */
  readonly until: Millis;
  /** How many places are released; undefined if no caller held them. */
  readonly released?: number | undefined;
}

export interface PendingReturns {
  add(pending: PendingReturn): void;
  /** Tries all of them now. */
  retry(): void;
  /** Removes a pending release of this many places of a row, and returns it. */
  removeRelease(id: string, cost: number): PendingReturn | undefined;
  close(): void;
  readonly size: number;
}

/** Beyond this number, a further one is dropped; its place is free when its lease ends. */
const MAX_PENDING = 10_000;
const RETRY_EVERY: Millis = 100;

/** `attempt` tries one of them, and returns false if it has to wait. */
export function pendingReturns(attempt: (pending: PendingReturn) => boolean): PendingReturns {
  let waiting: PendingReturn[] = [];
  let stopTimer: (() => void) | undefined;
  let closed = false;

  function schedule(): void {
    if (waiting.length > 0 && !closed) stopTimer ??= quietClock.after(RETRY_EVERY, onTimer);
  }

  function onTimer(): void {
    stopTimer = undefined;
    retry();
  }

  function retry(): void {
    const now = systemClock.now();
    const inTime = waiting.filter((pending) => pending.due(now).length > 0);
    waiting = [];
    const failed = inTime.filter((pending) => !attempt(pending));
    // `attempt` may have added some.
    waiting = [...failed, ...waiting];
    schedule();
  }

  return {
    add(pending) {
      if (closed || waiting.length >= MAX_PENDING) return;
      waiting.push(pending);
      schedule();
    },
    retry,
    removeRelease(id, cost) {
      const index = waiting.findIndex((pending) => pending.id === id && pending.released === cost);
      return index < 0 ? undefined : waiting.splice(index, 1)[0];
    },
    close() {
      closed = true;
      waiting = [];
      stopTimer?.();
      stopTimer = undefined;
    },
    get size() {
      return waiting.length;
    },
  };
}
