/** The system clock, its timers, and validation of other clocks. */
import type { Clock, Millis } from '../engine/contract.ts';
import { SluiceError } from './errors.ts';

/** The longest delay that setTimeout accepts. With a longer one, it fires immediately. */
export const LONGEST_TIMEOUT: Millis = 2 ** 31 - 1;

/**
 * Milliseconds by which a timer may fire early. Real timers are at most one millisecond early. If a timer fires even earlier, fake
 * timers have replaced the real ones, but not `performance`, so the timer is treated as due.
 */
const EARLY: Millis = 2;

/** A clock that reads the time from a function. Its timers keep the process alive unless `isQuiet` is true. */
export function clockFrom(now: () => Millis): Clock {
  return {
    now,
    after(delay, wake, isQuiet = false) {
      const due = systemNow() + delay;
      let timer: ReturnType<typeof setTimeout>;
      function arm(): void {
        const left = Math.max(Math.ceil(due - systemNow()), 0);
        timer = setTimeout(() => ring(left > LONGEST_TIMEOUT), Math.min(left, LONGEST_TIMEOUT));
        if (isQuiet) (timer as { unref?(): unknown }).unref?.();
      }
      function ring(isFirstPart: boolean): void {
        const left = due - systemNow();
        if (isFirstPart || (left > 0 && left <= EARLY)) arm();
        else wake();
      }
      arm();
      return () => clearTimeout(timer);
    },
  };
}

/** A clock that is passed to a store as the option `clock`. Without `after`, waiting uses setTimeout. */
export interface GivenClock {
  /** The current time in epoch milliseconds, or in milliseconds since any other fixed instant. Never below 0. */
  now(): Millis;
  /** Same as `Clock.after`. */
  after?: Clock['after'];
}

/**
 * Validates a clock that was passed as an option, and every value that its `now` returns. Times must not be below 0, because the
 * row of a fresh key contains zeros. At a time below 0, such a row would be in the future, and every key would be denied.
 */
export function clockOf(option: string, given: GivenClock | undefined): Clock {
  if (given === undefined) return systemClock;
  if (typeof given?.now !== 'function')
    throw new SluiceError('ERR_OPTIONS', option, given, '', 'must be an object with now()');
  function now(): Millis {
    const instant = (given as GivenClock).now();
    if (!(instant >= 0 && instant < Infinity)) throw new SluiceError('ERR_CLOCK', option, instant);
    return instant;
  }
  const { after } = given;
  return after === undefined
    ? clockFrom(now)
    : { now, after: (delay, wake, isQuiet) => after.call(given, delay, wake, isQuiet) };
}

/** The instant from which `performance.now()` counts, in epoch milliseconds. */
function originOf({ timeOrigin }: typeof performance): Millis {
  // In @sinonjs/fake-timers before version 14, which Jest 29 and 30 use, `timeOrigin` is a function.
  return Number.isFinite(timeOrigin) ? timeOrigin : Date.now() - performance.now();
}

const loaded = { performance, setTimeout, Date };
const loadedOrigin = originOf(performance);

/**
 * The current time in epoch milliseconds. It never goes back, and its resolution is finer than a microsecond. If fake timers
 * replace the globals, this clock follows them. It compares `setTimeout` and `Date` first, because that is free: engines treat a
 * global that never changed as a constant. Reading the global `performance`, a getter in Node, takes more than a tenth of the
 * time of a check.
 */
function systemNow(): Millis {
  return setTimeout === loaded.setTimeout && Date === loaded.Date
    ? loadedOrigin + loaded.performance.now()
    : replacedNow();
}

let current = performance;
let currentOrigin = loadedOrigin;

/** The current time according to `performance`, which may have been replaced since the module was loaded. */
function replacedNow(): Millis {
  if (performance !== current) {
    current = performance;
    currentOrigin = originOf(current);
  }
  return currentOrigin + current.now();
}

/** The default clock of stores in this process. */
export const systemClock: Clock = clockFrom(systemNow);
