import type { Duration, Millis } from 'sluice';

/**
 * Converts milliseconds to a `Duration`. The library rejects a bare number below 1000, which is usually meant in seconds, so
 * short durations are written with their unit.
 */
export function inMillis(millis: Millis): Duration {
  return millis > 0 && millis < 1000 ? `${millis}ms` : millis;
}
