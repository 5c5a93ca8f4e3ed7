/** Equal deadlines fall due in the order they were set: a queue and one timer serve them all. */
import { LONGEST_TIMEOUT, systemClock } from '../clock.ts';
import type { Millis } from '../contract.ts';

interface Deadline {
  readonly due: Millis;
  expire: ((due: Millis) => void) | undefined;
}

export interface Deadlines {
  /** Calls `expire` with the instant that has passed, unless the returned function is called first. */
  set(expire: (due: Millis) => void): () => void;
}

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
  let timer: { ref?(): unknown; unref?(): unknown } | undefined;
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

  function ring(): void {
    timer = undefined;
    for (skipMet(); head < queue.length && queue[head].due <= systemClock.now(); skipMet()) {
      const { due, expire } = queue[head];
      queue[head].expire = undefined;
      expire?.(due);
    }
    arm();
  }

  function arm(): void {
    if (head === queue.length) return;
    // Fake timers, when removed, drop what is pending: a timer set with another `setTimeout` may never ring.
    if (armedWith !== setTimeout) timer = undefined;
    armedWith = setTimeout;
    timer?.ref?.();
    const left = Math.max(0, Math.ceil(queue[head].due - systemClock.now()));
    timer ??= setTimeout(() => soon(ring), Math.min(left, LONGEST_TIMEOUT));
  }

  return {
    set(expire) {
      const deadline: Deadline = { due: systemClock.now() + span, expire };
      queue.push(deadline);
      arm();
      return () => {
        deadline.expire = undefined;
        skipMet();
      };
    },
  };
}
