/** Durations as people write them. */
import type { Millis } from '../engine/contract.ts';
import { SluiceError } from './errors.ts';

/** Milliseconds, or text: '250ms' '10s' '1m' '2h' '1d' '1w' '1h30m'. */
export type Duration = Millis | string;

/** Each unit by all its names, and how many of the one before it make one. */
const UNITS: ReadonlyMap<string, Millis> = unitsOf([
  [1, 'ms millisecond milliseconds'],
  [1000, 's sec secs second seconds'],
  [60, 'm min mins minute minutes'],
  [60, 'h hr hrs hour hours'],
  [24, 'd day days'],
  [7, 'w week weeks'],
]);

function unitsOf(steps: readonly (readonly [times: number, names: string])[]): Map<string, Millis> {
  const units = new Map<string, Millis>();
  let millis = 1;
  for (const [times, names] of steps) {
    millis *= times;
    for (const name of names.split(' ')) units.set(name, millis);
  }
  return units;
}

/** The exponent is that of JavaScript's small numbers: 1e-7. */
const PART = /(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-z]+)\s*/gy;

/** A positive, finite span in milliseconds; anything else is an error that names the option. */
export function duration(option: string, value: unknown): Millis {
  if (value === undefined) throw new SluiceError('ERR_MISSING_OPTION', option, value);
  const millis = typeof value === 'string' ? parseDuration(value.trim().toLowerCase()) : value;
  if (typeof millis !== 'number' || !(millis > 0) || millis === Infinity) {
    throw new SluiceError('ERR_DURATION', option, value);
  }
  return millis;
}

const SECOND: Millis = 1000;

/**
 * The duration of a window. A bare number below a second is an error: `per: 60` is meant in seconds far more often than in
 * milliseconds. With a unit, any duration is accepted.
 */
export function windowOf(option: string, value: unknown): Millis {
  const millis = duration(option, value);
  if (value !== millis || millis >= SECOND) return millis;
  const hint = `write '${millis}s' or '${millis}ms'`;
  throw new SluiceError(
    'ERR_DURATION',
    option,
    value,
    hint,
    'needs a unit, because a bare number is in milliseconds',
  );
}

/** Milliseconds as `windowOf` accepts them, however few. */
export function inMillis(millis: Millis): Duration {
  return millis > 0 && millis < SECOND ? `${millis}ms` : millis;
}

/** A bare unit counts as one of it, so that rates read well: 'min' is '1min'. NaN when it is no duration. */
export function parseDuration(text: string): Millis {
  const unit = UNITS.get(text);
  if (unit !== undefined) return unit;
  let total = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    total += Number(part[1]) * (UNITS.get(part[2]) ?? Number.NaN);
    end = part.index + part[0].length;
  }
  return end === text.length && end > 0 ? total : Number.NaN;
}

const SPELLED = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
] as const;

/** The text of a duration, in the greatest unit of which it is a whole number. */
export function spelled(millis: Millis): string {
  const whole = Math.round(millis);
  const [size, unit] = SPELLED.find(([size]) => whole % size === 0) ?? [1, 'ms'];
  return `${whole / size}${unit}`;
}
