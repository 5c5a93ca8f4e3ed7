/** The system clock with timers that do not keep the process alive. */
import { LONGEST_TIMEOUT, systemClock } from '../../internal/clock.ts';
import type { Clock, Millis } from '../../engine/contract.ts';

/**
 * The system clock with timers that do not keep the process alive. A delay longer than the longest timer ends early, so callers
 * must check the clock again.
 */
export const quietClock: Clock = {
  now: () => systemClock.now(),
  after(delay: Millis, wake: () => void) {
    const timer = setTimeout(wake, Math.min(delay, LONGEST_TIMEOUT));
    timer.unref?.();
    return () => clearTimeout(timer);
  },
};
