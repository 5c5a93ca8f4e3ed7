/**
 * Decides when a connection stops reading while the server drains. RESP has no message that asks a client to close its connection,
 * so the server answers what has arrived, waits for a quiet moment and closes the connection then.
 */
import type { Millis } from 'sluice';

/** The parts of a connection that its last round uses. */
export interface Draining {
  /** Number of times that input arrived. */
  readonly reads: () => number;
  /** Runs the commands that have arrived, and writes their replies. */
  readonly run: () => void;
  /** Writes the pending replies. */
  readonly write: () => void;
  /** Stops reading for good. */
  readonly stopReading: () => void;
}

export interface LastRound {
  /** Starts to drain the connection. See `Connection.drain`. Further calls have no effect. */
  begin(grace: Millis, lastReads: Millis): void;
  /**
   * Called after each write. `isAnswered` says whether everything that has arrived is answered. `isBlocked` says whether the
   * connection does not read at the moment.
   */
  afterWrite(isAnswered: boolean, isBlocked: boolean): void;
  /** Stops the timers, because the connection is closing. */
  cancel(): void;
}

export function createLastRound({ reads, run, write, stopReading }: Draining): LastRound {
  /** Whether the connection closes as soon as everything that has arrived is answered. */
  let isLastRound = false;
  /** Whether the last round has taken so long that the client seems to send commands without end. */
  let isOverdue = false;
  let isAwaitingQuiet = false;
  /** Whether the connection was blocked since `awaitQuiet` was last called, which means that unread commands may be waiting. */
  let wasBlocked = false;
  let timer: NodeJS.Timeout | undefined;

  function start(grace: Millis, lastReads: Millis): void {
    isLastRound = true;
    timer = setTimeout(() => {
      isOverdue = true;
      timer = setTimeout(stopReading, lastReads).unref();
      run();
    }, grace).unref();
    run();
  }

  /**
   * Waits for two turns of the event loop, then stops reading if nothing has arrived. If the last round is overdue, stops reading
   * even if input has arrived, unless the connection was blocked. Node reads from all sockets in each turn, so everything that
   * arrived before these two turns is answered, even if the process was stalled.
   */
  function awaitQuiet(): void {
    if (isAwaitingQuiet) return;
    isAwaitingQuiet = true;
    wasBlocked = false;
    const before = reads();
    setImmediate(() =>
      setImmediate(() => {
        isAwaitingQuiet = false;
        if (reads() === before || (isOverdue && !wasBlocked)) stopReading();
        else write();
      }),
    );
  }

  return {
    begin(grace, lastReads) {
      timer ??= setTimeout(start, grace, grace, lastReads);
    },
    afterWrite(isAnswered, isBlocked) {
      if (isLastRound && (isAnswered || (isOverdue && !isBlocked))) awaitQuiet();
      wasBlocked ||= isBlocked;
    },
    cancel: () => clearTimeout(timer),
  };
}
