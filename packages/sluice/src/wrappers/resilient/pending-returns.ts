/** Keeps refunds and releases that have not reached the store, and retries them until they would come too late. */
import { systemClock } from '../../internal/clock.ts';
import type { Hit, Millis } from '../../engine/contract.ts';
import { quietClock } from '../shared/quiet-clock.ts';

/** A refund or release that has not reached the store. */
export interface PendingReturn {
  /** The id of the row, from `rowIdOf`. */
  readonly id: string;
  /** The hit that failed, or whose charge is undone. It determines which circuit breaker applies. */
  readonly hit: Hit;
  /** The hits to send now. Empty if it is too late to send them. */
  due(now: Millis): readonly Hit[];
  /** When the lease of the released places ends. */
  readonly until: Millis;
  /** Number of places that are released. Undefined if no caller held them. */
  readonly released?: number | undefined;
}

export interface PendingReturns {
  add(pending: PendingReturn): void;
  /** Retries all pending returns now. */
  retry(): void;
  /** Removes a pending release of this many places of a row, and returns it. */
  removeRelease(id: string, cost: number): PendingReturn | undefined;
  close(): void;
  readonly size: number;
}

/** Maximum number of pending returns. Any further return is dropped, and its place becomes free when its lease ends. */
const MAX_PENDING = 10_000;
const RETRY_EVERY: Millis = 100;

/** Creates an empty list. `attempt` tries one pending return, and returns false if the return has to wait. */
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
    // `attempt` may have added further returns.
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
