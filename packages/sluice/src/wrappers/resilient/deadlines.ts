/** Equal deadlines fall due in the order they were set: a queue and one timer serve them all. */
import { LONGEST_TIMEOUT, systemClock } from '../../internal/clock.ts';
import type { Millis } from '../../engine/contract.ts';

interface Deadline {
  readonly since: Millis;
  readonly due: Millis;
  expire: ((since: Millis) => void) | undefined;
}

export interface Deadlines {
  /**
   * Calls `expire` with `since` at `due`, unless the returned function is called first. Default: from now on, for as long as
   * every deadline lasts. Deadlines that are earlier than those already set are welcome if they are rare.
   */
  set(expire: (since: Millis) => void, since?: Millis, due?: Millis): () => void;
}

/** A timer that is later than this was kept waiting by a stalled event loop. */
const STALL: Millis = 5;

/**
 * Runs after the event loop has read from sockets. When a process was busy for longer than the deadline, its timers are due
 * before it has read the answers that arrived in the meantime. The global is read at each call: fake timers replace it.
 */
function soon(run: () => void): void {
  const { setImmediate = setTimeout } = globalThis as { setImmediate?: (run: () => void) => unknown };
  setImmediate(run);
}

export function deadlines(span: Millis): Deadlines {
  let queue: Deadline[] = [];
  let head = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer is due. */
  let timerDue = 0;
  /** When hits got more time because of a stall, the last time. */
  let stalledAt = -Infinity;
  let armedWith = setTimeout;

  function skipMet(): void {
    while (head < queue.length && queue[head].expire === undefined) head++;
    if (head === queue.length) {
      queue = [];
      head = 0;
      // Nobody waits: the timer may run out, but it holds no process.
      timer?.unref?.();
    } else if (head > 1000 && 2 * head > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
  }

  function wake(): void {
    const late = systemClock.now() - timerDue;
    // Answers that have arrived are read before anybody judges.
    soon(() => ring(late));
  }

  /**
   * After a stall, the client may not even have sent what it was given before. Hits that are overdue then get as much more
   * time as the timer was late, up to a whole deadline; each hit once.
   */
  function ring(late: Millis): void {
    timer = undefined;
    for (skipMet(); head < queue.length && queue[head].due <= systemClock.now(); skipMet()) {
      const { since, expire } = queue[head];
      if (late > STALL && since > stalledAt) {
        stalledAt = systemClock.now();
        setTimer(Math.min(late, span));
        return;
      }
      queue[head].expire = undefined;
      expire?.(since);
    }
    arm();
  }

  function arm(): void {
    if (head === queue.length) return;
    // Fake timers, when removed, drop what is pending: a timer set with another `setTimeout` may never ring.
    if (armedWith !== setTimeout) timer = undefined;
    armedWith = setTimeout;
    timer?.ref?.();
    if (timer === undefined) setTimer(Math.max(0, queue[head].due - systemClock.now()));
  }

  function setTimer(delay: Millis): void {
    const whole = Math.min(Math.ceil(delay), LONGEST_TIMEOUT);
    timerDue = systemClock.now() + whole;
    timer = setTimeout(wake, whole);
  }

  function insert(deadline: Deadline): void {
    let at = queue.length;
    while (at > head && queue[at - 1].due > deadline.due) at--;
    if (at === queue.length) {
      queue.push(deadline);
      return;
    }
    queue.splice(at, 0, deadline);
    if (at > head) return;
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    set(expire, since = systemClock.now(), due = since + span) {
      const deadline: Deadline = { since, due, expire };
      insert(deadline);
      arm();
      return () => {
        deadline.expire = undefined;
        skipMet();
      };
    },
  };
}
