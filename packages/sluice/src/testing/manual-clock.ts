/** A clock that moves only when it is advanced or set, and then fires the timers that have become due. */
import { Alarms } from './alarms.ts';
import type { Clock, Millis } from '../engine/contract.ts';

export interface ManualClock extends Clock {
  /**
   * Moves the clock forward by this many milliseconds. Timers that become due fire in order, each at the time for which it was
   * set.
   */
  advance(by: Millis): void;
  /** Jumps to an instant, which may be in the past. A jump forward fires timers as `advance` does. */
  set(instant: Millis): void;
}

/** A clock that moves only when it is advanced or set, and then fires the timers that are due. */
export function manualClock(start: Millis = 0): ManualClock {
  const alarms = new Alarms();
  let time = start;

  function set(instant: Millis): void {
    while (alarms.next() <= instant) {
      time = Math.max(time, alarms.next());
      alarms.ring();
    }
    time = instant;
  }

  return {
    now: () => time,
    after: (delay, wake) => alarms.set(time + delay, wake),
    advance: (by) => set(time + by),
    set,
  };
}
