/** The system's clock, and waiting for it. */
import type { Clock, Millis } from './contract.ts';
import { SluiceError } from './errors.ts';

/** setTimeout fires at once above this. */
export const LONGEST_TIMEOUT: Millis = 2 ** 31 - 1;

/** A clock over a reading function. One waits for it by timers, which hold the process only while somebody waits. */
export function clockFrom(now: () => Millis): Clock {
  return {
    now,
    after(delay, wake) {
      const due = performance.now() + delay;
      let timer: ReturnType<typeof setTimeout>;
      function arm(): void {
        const left = Math.max(Math.ceil(due - performance.now()), 0);
        // A timer may ring a little early.
        timer = setTimeout(() => (performance.now() < due ? arm() : wake()), Math.min(left, LONGEST_TIMEOUT));
      }
      arm();
      return () => clearTimeout(timer);
    },
  };
}

/** What a store was given as `clock`. One without `after` is waited for with setTimeout. */
export interface GivenClock {
  /** Epoch milliseconds, or from any other instant that stays the same. */
  now(): Millis;
  /** As in `Clock`. */
  after?: Clock['after'];
}

/** `option`: where it was given. */
export function clockOf(option: string, given: GivenClock | undefined): Clock {
  if (given === undefined) return systemClock;
  if (typeof given?.now !== 'function') throw new SluiceError('ERR_OPTIONS', option, given, 'with now()');
  return given.after === undefined ? clockFrom(() => given.now()) : (given as Clock);
}

const origin = performance.timeOrigin;
/** Bound: reading the clock is most of a check, and this is its cheapest form. */
const elapsed = performance.now.bind(performance);

/** Epoch milliseconds that never go back and are finer than a microsecond. */
export const systemClock: Clock = clockFrom(() => origin + elapsed());
