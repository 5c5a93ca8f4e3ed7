/** Parses durations such as '1h30m'. */
import type { Millis } from '../engine/contract.ts';
import { SluiceError } from './errors.ts';

/** A duration as a number of milliseconds, or as text such as '250ms', '10s', '1m', '2h', '1d', '1w' or '1h30m'. */
export type Duration = Millis | string;

/**
 * The length of each unit of time in milliseconds, by each of its names. The list gives each length as a multiple of the previous
 * unit.
 */
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

/** Matches a number and a unit. JavaScript prints small numbers with an exponent, such as 1e-7, so exponents are accepted. */
const PART = /(\d+(?:\.\d+)?(?:e-?\d+)?)\s*([a-z]+)\s*/gy;

/** Parses a positive, finite duration to milliseconds. Otherwise, throws an error that names the option. */
export function duration(option: string, value: unknown): Millis {
  if (value === undefined) throw new SluiceError('ERR_MISSING_OPTION', option, value);
  const millis = typeof value === 'string' ? millisIn(value.trim().toLowerCase()) : value;
  if (typeof millis !== 'number' || !(millis > 0) || millis === Infinity) {
    throw new SluiceError('ERR_DURATION', option, value);
  }
  return millis;
}

/**
 * Parses a duration such as '1h30m' and returns milliseconds. A number is returned unchanged. Throws a `SluiceError` if the
 * value is not a positive duration. `option` is the name that the error message shows.
 */
export function parseDuration(value: Duration, option: string = 'duration'): Millis {
  return duration(option, value);
}

const SECOND: Millis = 1000;

/**
 * Parses the duration of a window. A bare number below 1000 is an error, because `per: 60` is meant in seconds far more often
 * than in milliseconds. With a unit, any duration is accepted.
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

/** Converts milliseconds to a form that `windowOf` accepts, even below a second. */
export function inMillis(millis: Millis): Duration {
  return millis > 0 && millis < SECOND ? `${millis}ms` : millis;
}

/**
 * Converts a duration such as '1h30m', in lowercase, to milliseconds. Returns NaN if the text is not a duration. A unit without a
 * number counts as one unit, so that 'min' is the same as '1min' and a rate can be written as '100/min'.
 */
export function millisIn(text: string): Millis {
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

/** Formats a duration as text, in the largest unit that needs no fraction. */
export function spelled(millis: Millis): string {
  const whole = Math.round(millis);
  const [size, unit] = SPELLED.find(([size]) => whole % size === 0) ?? [1, 'ms'];
  return `${whole / size}${unit}`;
}
