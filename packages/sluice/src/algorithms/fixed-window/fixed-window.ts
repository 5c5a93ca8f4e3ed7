/**
 * A count that starts anew with each window.
 *
 * Cells: start (of the window counted in), count.
 */
import { type Algorithm, type Cells, FORGIVEN, type Millis, type Policy } from '../../contract.ts';
import { type Duration, duration } from '../../duration.ts';
import { SluiceError } from '../../errors.ts';
import { known, oneOf, positive } from '../../options.ts';
import { CALENDAR_UNITS, type Calendar, type CalendarUnit, calendar } from './calendar.ts';

export interface FixedWindowOptions {
  readonly limit: number;
  /** Not with a calendar unit, which brings its own length. */
  readonly per?: Duration | undefined;
  /**
   * 'epoch' (default): windows are multiples of `per` since 1970. 'first': a window opens with the first request.
   * A calendar unit: days, weeks (from Monday), months or years of `timeZone`.
   */
  readonly align?: 'epoch' | 'first' | CalendarUnit | undefined;
  /** IANA name; default UTC. Only with a calendar unit. */
  readonly timeZone?: string | undefined;
}

export type FixedWindowParams = {
  readonly limit: number;
  /** A calendar unit's nominal length. */
  readonly per: Millis;
  readonly align: 'epoch' | 'first' | CalendarUnit;
  readonly timeZone: string;
};

export const fixedWindowAlgorithm: Algorithm<FixedWindowParams> = {
  name: 'fixed-window',
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
  give(p, row, at, now, cost) {
    row[at + 1] = Math.max(0, count(p, row, at, now) - cost);
  },
  clearIn: (p, row, at, now) => (count(p, row, at, now) === 0 ? 0 : endOf(p, row[at]) - now),
};

function count(p: FixedWindowParams, row: Cells, at: number, now: Millis): number {
  return row[at + 1] !== 0 && endOf(p, row[at]) > now + FORGIVEN ? row[at + 1] : 0;
}

/** The start of the window that a first request opens or falls into. */
function startAt(p: FixedWindowParams, now: Millis): Millis {
  if (p.align === 'epoch') return Math.floor((now + FORGIVEN) / p.per) * p.per;
  return p.align === 'first' ? now : calendarOf(p, p.align).startOf(now + FORGIVEN);
}

function endOf(p: FixedWindowParams, start: Millis): Millis {
  return p.align === 'epoch' || p.align === 'first' ? start + p.per : calendarOf(p, p.align).endOf(start);
}

const calendars = new WeakMap<FixedWindowParams, Calendar>();

function calendarOf(p: FixedWindowParams, unit: CalendarUnit): Calendar {
  const found = calendars.get(p) ?? calendar(unit, p.timeZone);
  calendars.set(p, found);
  return found;
}

const NOMINAL: Readonly<Record<CalendarUnit, Duration>> = {
  day: '1d',
  week: '7d',
  month: '30d',
  year: '365d',
};

export function fixedWindow(options: FixedWindowOptions): Policy {
  const {
    limit,
    per,
    align = 'epoch',
    timeZone,
  } = known('fixedWindow', options, ['limit', 'per', 'align', 'timeZone']);
  oneOf('fixedWindow.align', align, ['epoch', 'first', ...CALENDAR_UNITS]);
  const onCalendar = align !== 'epoch' && align !== 'first';
  if (onCalendar && per !== undefined) {
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'fixedWindow.per',
      per,
      `the length comes with align: '${align}'`,
    );
  }
  if (!onCalendar && timeZone !== undefined) {
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'fixedWindow.timeZone',
      timeZone,
      'only with a calendar unit',
    );
  }
  const params: FixedWindowParams = {
    limit: positive('fixedWindow.limit', limit),
    per: duration('fixedWindow.per', onCalendar ? NOMINAL[align] : per),
    align,
    timeZone: timeZone ?? 'UTC',
  };
  if (onCalendar) calendarOf(params, align);
  return { algorithm: fixedWindowAlgorithm, params, limit, window: params.per };
}
