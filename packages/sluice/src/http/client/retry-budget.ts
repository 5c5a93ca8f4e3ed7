/** What a client remembers in order to hold back: who is to be left alone, and how many retries are paid for. */
import { type Clock, type Decision, TIME_EPSILON, type Millis } from '../../engine/contract.ts';
import { declareDecision } from '../../engine/decision.ts';

interface Closures {
  /** How long the key's server is still to be left alone; 0: not at all. */
  left(key: string): Millis;
  close(key: string, span: Millis): void;
}

interface RetryBudget {
  /** A call is made. */
  earn(): void;
  /** Whether it may be made once more. */
  spend(): boolean;
}

/** The most announcements that are remembered; beyond that the oldest is evicted. */
const MAX_KEYS = 10_000;
/** The most characters that all their keys may have together: a caller may use whole URLs as keys. */
const MAX_CHARACTERS = 5_000_000;

/** Until when a key's server is to be left alone. Of several announcements the latest instant counts. */
export function closures(clock: Clock): Closures {
  const ends = new Map<string, Millis>();
  let characters = 0;

  function forget(key: string): void {
    if (ends.delete(key)) characters -= key.length;
  }

  return {
    left(key) {
      const span = (ends.get(key) ?? 0) - clock.now();
      if (span > TIME_EPSILON) return span;
      forget(key);
      return 0;
    },
    close(key, span) {
      const end = Math.max(ends.get(key) ?? 0, clock.now() + span);
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

/** Retries that are there before any call has paid for one. */
const RESERVE = 10;

/** Among any n calls in a row there are at most RESERVE + ratio · n retries: a server that is down hears little more. */
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

/** What the limiter of an announcement would say. */
export function refusal(wait: Millis): Decision {
  return declareDecision('announced', false, 0, wait, 'deny-cache');
}

/** Rejects with the signal's reason; no timer stays behind. */
export function sleep(clock: Clock, span: Millis, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(span, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
