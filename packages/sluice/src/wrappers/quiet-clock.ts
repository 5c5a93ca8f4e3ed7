/** This machine's monotonic clock. Its timers keep no process alive. */
import { LONGEST_TIMEOUT } from '../clock.ts';
import type { Clock, Millis } from '../contract.ts';

/** A delay that is too long for a timer ends early: whoever sets one looks at the clock again. */
export const quietClock: Clock = {
  now: performance.now.bind(performance),
  after(delay: Millis, wake: () => void) {
    const timer = setTimeout(wake, Math.min(delay, LONGEST_TIMEOUT));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};
