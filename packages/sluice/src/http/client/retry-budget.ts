/** State that a client keeps between calls: until when each server asked it to wait, and how many retries are left. */
import { type Clock, type Decision, TIME_EPSILON, type Millis } from '../../engine/contract.ts';
import { declareDecision } from '../../engine/decision.ts';

interface Closures {
  /** The remaining wait that the key's server has announced. 0 if there is none. */
  left(key: string): Millis;
  /** Blocks calls with this key for `wait` milliseconds. */
  close(key: string, wait: Millis): void;
}

interface RetryBudget {
  /** Adds a fraction of a retry to the budget. Must be called once per call. */
  earn(): void;
  /** Takes one retry from the budget. Returns false if the budget is empty. */
  spend(): boolean;
}

/** The maximum number of announced waits that are remembered. If there are more, the oldest wait is evicted. */
const MAX_KEYS = 10_000;
/**
 * The maximum total length of all remembered keys, in characters. Keys may be whole URLs, so MAX_KEYS alone does not bound
 * memory.
 */
const MAX_CHARACTERS = 5_000_000;

/**
 * Remembers until when each key's server asked clients to wait. If a server announces several waits, the one that ends last
 * applies.
 */
export function closures(clock: Clock): Closures {
  const ends = new Map<string, Millis>();
  let characters = 0;

  function forget(key: string): void {
    if (ends.delete(key)) characters -= key.length;
  }

  return {
    left(key) {
      const wait = (ends.get(key) ?? 0) - clock.now();
      if (wait > TIME_EPSILON) return wait;
      forget(key);
      return 0;
    },
    close(key, wait) {
      const end = Math.max(ends.get(key) ?? 0, clock.now() + wait);
      forget(key);
      for (const oldest of ends.keys()) {
        if (ends.size < MAX_KEYS && characters + key.length <= MAX_CHARACTERS) break;
        forget(oldest);
      }
      ends.set(key, end);
      characters += key.length;
    },
  };
}

/** The retry budget before any call, and its upper bound. */
const RESERVE = 10;

/**
 * Creates a retry budget. Any n consecutive calls cause at most RESERVE + ratio · n retries, so retries add little load to a
 * server that is down.
 */
export function retryBudget(ratio: number): RetryBudget {
  let saved = RESERVE;
  return {
    earn() {
      saved = Math.min(RESERVE, saved + ratio);
    },
    spend() {
      if (saved < 1) return false;
      saved -= 1;
      return true;
    },
  };
}

/** A denial that represents a wait announced by the server. */
export function announcedDenial(wait: Millis): Decision {
  return declareDecision('announced', false, 0, wait, 'deny-cache');
}

/** Waits `wait` milliseconds. If the signal is aborted, clears the timer and rejects with the signal's reason. */
export function sleep(clock: Clock, wait: Millis, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(wait, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
