/** Counts units in windows. In each window, the count starts from 0. Cells: start (of the current window), count. */
import {
  type Algorithm,
  type Cells,
  TIME_EPSILON,
  isFarAhead,
  type Millis,
  type Params,
  type Policy,
} from '../../engine/contract.ts';
import { type Duration, windowOf } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, oneOf, perWindow, positive } from '../../internal/options.ts';
import { CALENDAR_UNITS, type Calendar, type CalendarUnit, calendar } from './calendar.ts';
import type { RatedEntry } from '../entry.ts';

export interface FixedWindowOptions {
  /** The maximum number of units in a window, at least 1. */
  readonly limit: number;
  /** The length of a window. Not allowed with a calendar unit, which has its own length. */
  readonly per?: Duration | undefined;
  /**
   * With 'epoch' (default), windows start at multiples of `per` since 1970. With 'first', a window opens with the first request.
   * With a calendar unit, windows are the days, weeks (from Monday), months or years of `timeZone`.
   */
  readonly align?: 'epoch' | 'first' | 'day' | 'week' | 'month' | 'year' | undefined;
  /** Name of an IANA time zone. Default UTC. Allowed only if `align` is a calendar unit. */
  readonly timeZone?: string | undefined;
}

export type FixedWindowParams = {
  readonly limit: number;
  readonly per: Millis;
  /**
   * If 0, windows start at multiples of `per`. Otherwise, a window opens with the first request and lasts for `first`, which equals
   * `per`, except in plans that open windows of different lengths in the same rows.
   */
  readonly first: Millis;
};

export type CalendarWindowParams = {
  readonly limit: number;
  readonly unit: CalendarUnit;
  readonly timeZone: string;
};

/**
 * Creates an algorithm that counts units in windows. `startAt` and `endOf` compute where a window starts and ends. `isWrong`
 * returns true if only a wrong clock can have written `start`. `isBefore` returns true if `instant` is before the window that
 * starts at `start`.
 */
function windows<P extends { readonly limit: number } & Params>(
  name: string,
  startAt: (params: P, now: Millis) => Millis,
  endOf: (params: P, start: Millis) => Millis,
  isWrong: (params: P, start: Millis, now: Millis) => boolean,
  isBefore: (params: P, instant: Millis, start: Millis) => boolean,
): Algorithm<P> {
  function count(p: P, row: Cells, at: number, now: Millis): number {
    if (row[at + 1] === 0 || endOf(p, row[at]) <= now + TIME_EPSILON) return 0;
    return row[at] > now && isWrong(p, row[at], now) ? 0 : row[at + 1];
  }
  return {
    name,
    width: () => 2,
    available: (p, row, at, now) => p.limit - count(p, row, at, now),
    waitFor(p, row, at, now, cost) {
      if (cost > p.limit) return Infinity;
      return count(p, row, at, now) + cost <= p.limit ? 0 : endOf(p, row[at]) - now;
    },
    take(p, row, at, now, cost) {
      const counted = count(p, row, at, now);
      if (counted === 0) row[at] = startAt(p, now);
      row[at + 1] = counted + cost;
    },
    give(p, row, at, now, cost, takenAt) {
      const counted = count(p, row, at, now);
      // A charge that was made in an earlier window is not given back.
      const isEarlier = takenAt !== undefined && isBefore(p, takenAt, row[at]);
      row[at + 1] = isEarlier ? counted : Math.max(0, counted - cost);
    },
    clearIn: (p, row, at, now) => (count(p, row, at, now) === 0 ? 0 : endOf(p, row[at]) - now),
    attempt(p, row, at, now, cost, out) {
      let counted = count(p, row, at, now);
      let wait = cost > p.limit ? Infinity : 0;
      if (wait === 0 && counted + cost > p.limit) wait = endOf(p, row[at]) - now;
      if (wait === 0) {
        if (counted === 0) row[at] = startAt(p, now);
        row[at + 1] = counted + cost;
        counted = count(p, row, at, now);
      }
      out[0] = p.limit - counted;
      out[1] = counted === 0 ? 0 : endOf(p, row[at]) - now;
      return wait;
    },
    refill: () => 'whole',
    inherit: { cells: [1], full: (p) => p.limit },
    lease: { lasts: (_, resetAfter) => resetAfter },
  };
}

const fixedWindowAlgorithm: Algorithm<FixedWindowParams> = windows(
  'fixed-window',
  (p, now) => (p.first > 0 ? now + (p.first - p.per) : Math.floor((now + TIME_EPSILON) / p.per) * p.per),
  (p, start) => start + p.per,
  // If several plans open windows of different lengths in the same rows, a plan cannot tell how far ahead a window may start.
  (p, start, now) => p.first <= p.per && isFarAhead(start, now, p.per),
  // For the same reason, a plan cannot tell whether a charge belongs to an earlier window.
  (p, instant, start) => p.first <= p.per && instant + TIME_EPSILON < start,
);

const calendarWindowAlgorithm: Algorithm<CalendarWindowParams> = {
  ...windows<CalendarWindowParams>(
    'calendar-window',
    (p, now) => calendarOf(p).startOf(now + TIME_EPSILON),
    (p, start) => calendarOf(p).endOf(start),
    (p, start, now) => start > calendarOf(p).endOf(now + TIME_EPSILON),
    (_, instant, start) => instant + TIME_EPSILON < start,
  ),
  redis: {
    /**
     * Arguments of the Redis script. Redis has no calendar, so the script receives the boundaries of calendar units around the
     * current time, from two units before the current one to two units after it.
     */
    args(p, now) {
      const calendar = calendarOf(p);
      const start = calendar.startOf(now);
      const before = calendar.startOf(start - 1);
      const end = calendar.endOf(start);
      const next = calendar.endOf(end);
      return [p.limit, calendar.startOf(before - 1), before, start, end, next, calendar.endOf(next)];
    },
  },
};

const calendars = new WeakMap<CalendarWindowParams, Calendar>();

function calendarOf(p: CalendarWindowParams): Calendar {
  const found = calendars.get(p) ?? calendar(p.unit, p.timeZone);
  calendars.set(p, found);
  return found;
}

const NOMINAL: Readonly<Record<CalendarUnit, Duration>> = {
  day: '1d',
  week: '7d',
  month: '30d',
  year: '365d',
};

/** Counts units in windows that are aligned to the epoch, to the first request, or to the calendar. */
export function fixedWindow(options: FixedWindowOptions): Policy {
  const {
    limit,
    per,
    align = 'epoch',
    timeZone,
  } = checkOptionNames('fixedWindow', options, ['limit', 'per', 'align', 'timeZone']);
  oneOf('fixedWindow.align', align, ['epoch', 'first', ...CALENDAR_UNITS]);
  const onCalendar = align !== 'epoch' && align !== 'first';
  if (onCalendar && per !== undefined) {
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'fixedWindow.per',
      per,
      `align: '${align}' already determines the length of the window`,
    );
  }
  if (!onCalendar && timeZone !== undefined) {
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'fixedWindow.timeZone',
      timeZone,
      "allowed only if align is 'day', 'week', 'month' or 'year'",
    );
  }
  positive('fixedWindow.limit', limit);
  const window = windowOf('fixedWindow.per', onCalendar ? NOMINAL[align] : per);
  perWindow('fixedWindow.limit', limit, window);
  if (!onCalendar) {
    const params: FixedWindowParams = { limit, per: window, first: align === 'first' ? window : 0 };
    return { algorithm: fixedWindowAlgorithm, params, limit, window };
  }
  const params: CalendarWindowParams = { limit, unit: align, timeZone: timeZone ?? 'UTC' };
  calendarOf(params);
  return { algorithm: calendarWindowAlgorithm, params, limit, window };
}

const TEXT_UNITS = ['month', 'year'] as const;

export const fixedWindowEntry: RatedEntry = {
  factory: fixedWindow,
  algorithms: [fixedWindowAlgorithm, calendarWindowAlgorithm],
  text: {
    burst: false,
    calendarUnits: TEXT_UNITS,
    policy({ limit, per }) {
      const align = TEXT_UNITS.find((unit) => unit === per);
      return fixedWindow(align === undefined ? { limit, per } : { limit, align });
    },
  },
};
