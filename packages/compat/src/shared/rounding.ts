/** Rounds durations to whole units, as other APIs report them. */
import type { Millis } from 'sluice';

/**
 * The largest float error of an instant, which is half a microsecond. The engine tolerates this error, so it must not cause a
 * duration to be rounded up to the next unit.
 */
export const GRAIN: Millis = 0.0005;

/** Rounds a duration up to whole milliseconds, or to whole `unit`s. The result is never below 0. */
export function wholeUnits(duration: Millis, unit: Millis = 1): number {
  return Math.max(0, Math.ceil((duration - GRAIN) / unit));
}
