/** Finds the starts of days, weeks, months and years in a time zone, including leap years and days of 23 or 25 hours. */
import type { Millis } from '../../engine/contract.ts';
import { SluiceError } from '../../internal/errors.ts';

export const CALENDAR_UNITS = ['day', 'week', 'month', 'year'] as const;
export type CalendarUnit = (typeof CALENDAR_UNITS)[number];

export interface Calendar {
  /** The start of the calendar unit that contains this instant. */
  startOf(instant: Millis): Millis;
  /** The end of the calendar unit that contains this instant, which is the start of the next calendar unit. */
  endOf(instant: Millis): Millis;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Creates a calendar. It caches the calendar unit that it computed last, because nearly every call is about the current one. */
export function calendar(unit: CalendarUnit, timeZone: string): Calendar {
  const offset = offsetIn(timeZone);
  let start = Number.NaN;
  let end = Number.NaN;

  function turnTo(instant: Millis): void {
    if (instant >= start && instant < end) return;
    const local = new Date(instant + offset(instant));
    start = edge(local, 0);
    end = edge(local, 1);
    // If the clocks go back across midnight, the last hour of the day repeats although the new day has already begun.
    if (instant >= end) [start, end] = [end, edge(local, 2)];
  }

  /** The start of the calendar unit that contains this local date if `ahead` is 0, of the next one if it is 1, and so on. */
  function edge(local: Date, ahead: number): Millis {
    const [year, month, day] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()];
    if (unit === 'year') return instantOf(Date.UTC(year + ahead, 0, 1));
    if (unit === 'month') return instantOf(Date.UTC(year, month + ahead, 1));
    if (unit === 'day') return instantOf(Date.UTC(year, month, day + ahead));
    const sinceMonday = (local.getUTCDay() + 6) % 7;
    return instantOf(Date.UTC(year, month, day - sinceMonday + 7 * ahead));
  }

  /** The first instant whose local time is `local` or later. */
  function instantOf(local: Millis): Millis {
    const before = local - offset(local - DAY);
    const after = local - offset(local + DAY);
    if (before === after) return before;
    // The offset changes within a day of this instant, so find the change by binary search over whole seconds.
    let [low, high] = [Math.min(before, after) - HOUR, Math.max(before, after)];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (middle + offset(middle) >= local) high = middle;
      else low = middle;
    }
    return high;
  }

  return {
    startOf(instant) {
      turnTo(instant);
      return start;
    },
    endOf(instant) {
      turnTo(instant);
      return end;
    },
  };
}

/** How far the zone's wall clock is ahead of UTC at an instant. */
function offsetIn(timeZone: string): (instant: Millis) => Millis {
  if (timeZone === 'UTC') return () => 0;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    throw new SluiceError('ERR_TIME_ZONE', 'fixedWindow.timeZone', timeZone);
  }
  return (instant) => {
    const second = Math.floor(instant / 1000) * 1000;
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(second)) part[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, part['second']) - second;
  };
}
