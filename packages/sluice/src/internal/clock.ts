/** The system's clock, and waiting for it. */
import type { Clock, Millis } from '../engine/contract.ts';
import { SluiceError } from './errors.ts';

/** A longer delay makes setTimeout ring immediately. */
export const LONGEST_TIMEOUT: Millis = 2 ** 31 - 1;

/** Timers ring up to a millisecond early. One that rings earlier than this runs on fake time, which `performance` does not follow. */
const EARLY: Millis = 2;

/** A clock over a reading function. Waiting for it uses timers, which keep the process alive only while a caller waits. */
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

/** What `performance.now()` counts from, in epoch milliseconds. */
function originOf({ timeOrigin }: typeof performance): Millis {
  // @sinonjs/fake-timers before version 14, which Jest 29 and 30 use, has a function there.
  return Number.isFinite(timeOrigin) ? timeOrigin : Date.now() - performance.now();
}

const loaded = { performance, setTimeout, Date };
const loadedOrigin = originOf(performance);

/**
 * Epoch milliseconds that never go back and are finer than a microsecond. Fake timers replace the globals, and this clock
 * follows them. It compares `setTimeout` and `Date` first, because engines treat a global that never changed as a constant:
 * the comparison is free, while reading the global `performance`, a getter in Node, takes longer than a tenth of a check.
 */
function systemNow(): Millis {
  return setTimeout === loaded.setTimeout && Date === loaded.Date
    ? loadedOrigin + loaded.performance.now()
    : replacedNow();
}

let current = performance;
let currentOrigin = loadedOrigin;

/** The time of a `performance` that may have been replaced since the module was loaded. */
function replacedNow(): Millis {
  if (performance !== current) {
    current = performance;
    currentOrigin = originOf(current);
  }
  return currentOrigin + current.now();
}

/** The default clock of stores in this process. */
export const systemClock: Clock = clockFrom(systemNow);
