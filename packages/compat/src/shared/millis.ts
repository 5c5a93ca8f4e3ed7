import type { Duration, Millis } from 'sluice';

/**
 * Milliseconds as a `Duration`. The library rejects a bare number below one second, which is usually meant in seconds, so
 * short durations get their unit.
 */
export function inMillis(millis: Millis): Duration {
  return millis > 0 && millis < 1000 ? `${millis}ms` : millis;
}
