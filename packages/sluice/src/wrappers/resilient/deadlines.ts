/** Manages deadlines with one queue and one timer. Deadlines of the same duration expire in the order in which they were set. */
import { LONGEST_TIMEOUT, systemClock } from '../../internal/clock.ts';
import type { Millis } from '../../engine/contract.ts';

interface Deadline {
  readonly since: Millis;
  readonly due: Millis;
  expire: ((since: Millis) => void) | undefined;
}

export interface Deadlines {
  /**
   * Sets a deadline. Calls `expire` with `since` at the time `due`, unless the returned function is called first. By default, a
   * deadline starts now and has the common duration. Setting a deadline that is earlier than the last one is slower, so it should
   * be rare.
   */
  set(expire: (since: Millis) => void, since?: Millis, due?: Millis): () => void;
}

/** A timer that fires this many milliseconds late was delayed by a stalled event loop. */
const STALL: Millis = 5;

/**
 * Runs a function after the event loop has read from sockets. When a process was busy for longer than the deadline, its timers fire
 * before it reads the answers that have arrived. `setImmediate` is looked up at each call, because fake timers replace it.
 */
function afterReading(run: () => void): void {
  const { setImmediate = setTimeout } = globalThis as { setImmediate?: (run: () => void) => unknown };
  setImmediate(run);
}

/**
 * Deadlines with a separate timer for each. They are needed in runtimes such as Cloudflare Workers, which cancel the timers that a
 * request has set when that request ends. A shared timer would be canceled with the request that set it, and the deadlines of other
 * requests would not expire.
 */
export function separateDeadlines(duration: Millis): Deadlines {
  return {
    set(expire, since = systemClock.now(), due = since + duration) {
      const delay = Math.max(0, Math.ceil(due - systemClock.now()));
      const timer = setTimeout(() => expire(since), Math.min(delay, LONGEST_TIMEOUT));
      return () => clearTimeout(timer);
    },
  };
}

/** Creates the queue. `duration` applies to every deadline, unless `set` receives `due`. */
export function deadlines(duration: Millis): Deadlines {
  let queue: Deadline[] = [];
  let head = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer should fire. */
  let timerDue = 0;
  /** When hits were last given more time because of a stall. */
  let stalledAt = -Infinity;
  let armedWith = setTimeout;

  function skipFinished(): void {
    while (head < queue.length && queue[head].expire === undefined) head++;
    if (head === queue.length) {
      queue = [];
      head = 0;
      // No hit is waiting, so the timer must not keep the process alive.
      timer?.unref?.();
    } else if (head > 1000 && 2 * head > queue.length) {
      queue = queue.slice(head);
      head = 0;
    }
  }

  function onTimer(): void {
    const late = systemClock.now() - timerDue;
    afterReading(() => expireDue(late));
  }

  /**
   * Expires deadlines that are due. After a stall, the client may not even have sent the hits that it received before the stall.
   * So overdue hits get extra time, which is the delay of the timer but at most the duration of a deadline. Each hit gets extra
   * time only once.
   */
  function expireDue(late: Millis): void {
    timer = undefined;
    for (skipFinished(); head < queue.length && queue[head].due <= systemClock.now(); skipFinished()) {
      const { since, expire } = queue[head];
      if (late > STALL && since > stalledAt) {
        stalledAt = systemClock.now();
        setTimer(Math.min(late, duration));
        return;
      }
      queue[head].expire = undefined;
      expire?.(since);
    }
    arm();
  }

  function arm(): void {
    if (head === queue.length) return;
    // When fake timers are removed, their pending timers are lost, so a timer that was set with a different `setTimeout` may
    // never fire.
    if (armedWith !== setTimeout) timer = undefined;
    armedWith = setTimeout;
    timer?.ref?.();
    if (timer === undefined) setTimer(Math.max(0, queue[head].due - systemClock.now()));
  }

  function setTimer(delay: Millis): void {
    const whole = Math.min(Math.ceil(delay), LONGEST_TIMEOUT);
    timerDue = systemClock.now() + whole;
    timer = setTimeout(onTimer, whole);
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
    set(expire, since = systemClock.now(), due = since + duration) {
      const deadline: Deadline = { since, due, expire };
      insert(deadline);
      arm();
      return () => {
        deadline.expire = undefined;
        skipFinished();
      };
    },
  };
}
