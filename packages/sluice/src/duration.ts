/** Durations as people write them. */
import type { Millis } from './contract.ts';
import { SluiceError } from './errors.ts';

/** Milliseconds, or text: '250ms' '10s' '1m' '2h' '1d' '1w' '1h30m'. */
export type Duration = Millis | string;


const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;

const UNITS: Readonly<Record<string, Millis>> = {
  __proto__: null as never,
  ...{ ms: 1, millisecond: 1, milliseconds: 1 },
  ...{ s: SECOND, sec: SECOND, secs: SECOND, second: SECOND, seconds: SECOND },
  ...{ m: MINUTE, min: MINUTE, mins: MINUTE, minute: MINUTE, minutes: MINUTE },
  ...{ h: HOUR, hr: HOUR, hrs: HOUR, hour: HOUR, hours: HOUR },
  ...{ d: DAY, day: DAY, days: DAY, w: WEEK, week: WEEK, weeks: WEEK },
};

const PART = /(\d+(?:\.\d+)?)\s*([a-z]+)\s*/gy;

/** A positive, finite span in milliseconds; anything else is an error that names the option. */
export function duration(option: string, value: unknown): Millis {
  const millis = typeof value === 'string' ? parse(value.trim().toLowerCase()) : value;
  if (typeof millis !== 'number' || !(millis > 0) || millis === Infinity) {
    throw new SluiceError('ERR_DURATION', option, value);
  }
  return millis;
}

/** A bare unit counts as one of it, so that rates read well: 'min' is '1min'. NaN when it is no duration. */
export function parse(text: string): Millis {
  if (text in UNITS) return UNITS[text] as Millis;
  let total = 0;
  let end = 0;
  for (const part of text.matchAll(PART)) {
    total += Number(part[1]) * (UNITS[part[2] as string] ?? Number.NaN);
    end = part.index + part[0].length;
  }
  return end === text.length && end > 0 ? total : Number.NaN;
}
