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
  /** Epoch milliseconds, or milliseconds since any other fixed instant; never below 0. */
  now(): Millis;
  /** As in `Clock`. */
  after?: Clock['after'];
}

/**
 * A clock that was given as an option, with its readings checked. Below 0 a row of zeros, which is what a fresh key has,
 * would lie in the future, and every key would be denied.
 */
export function clockOf(option: string, given: GivenClock | undefined): Clock {
  if (given === undefined) return systemClock;
  if (typeof given?.now !== 'function') throw new SluiceError('ERR_OPTIONS', option, given, 'with now()');
  function now(): Millis {
    const instant = (given as GivenClock).now();
    if (!(instant >= 0 && instant < Infinity)) throw new SluiceError('ERR_CLOCK', option, instant);
    return instant;
  }
  const { after } = given;
  return after === undefined
    ? clockFrom(now)
    : { now, after: (delay, wake) => after.call(given, delay, wake) };
}

const origin = performance.timeOrigin;
/** Bound: reading the clock is most of a check, and this is its cheapest form. */
const elapsed = performance.now.bind(performance);

/** Epoch milliseconds that never go back and are finer than a microsecond. */
export const systemClock: Clock = clockFrom(() => origin + elapsed());
