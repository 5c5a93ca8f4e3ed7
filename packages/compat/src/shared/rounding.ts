/** Spans in whole units, as old APIs announce them. */
import type { Millis } from 'sluice';

/** The float error of an instant, half a microsecond: it is forgiven when a wait is over, so it is no unit more. */
export const GRAIN: Millis = 0.0005;

/** Rounded up to whole milliseconds, or to another unit; never below 0. */
export function wholeUnits(span: Millis, unit: Millis = 1): number {
  return Math.max(0, Math.ceil((span - GRAIN) / unit));
}
