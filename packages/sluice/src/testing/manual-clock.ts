/** A clock that moves only when told to, and wakes whoever waits for the instants it passes. */
import { Alarms } from './alarms.ts';
import type { Clock, Millis } from '../engine/contract.ts';

export interface ManualClock extends Clock {
  /** Moves on, stopping at every instant that somebody waits for. */
  advance(by: Millis): void;
  /** Jumps, also back. Forwards, it wakes as `advance` does. */
  set(instant: Millis): void;
}

/** A clock that moves only when it is told to, and then wakes whoever waits. */
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
