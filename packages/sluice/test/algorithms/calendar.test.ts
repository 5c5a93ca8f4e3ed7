/** Fixed windows on a time zone's calendar. Expected instants were calculated independently and are in UTC. */
import { describe, expect, test } from 'vitest';
import { CALENDAR_UNITS, type CalendarUnit, calendar } from '../../src/algorithms/fixed-window/calendar.ts';
import { createLimiter, fixedWindow, memory, SluiceError } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';

const HOUR = 3_600_000;

/** Zones that change their clocks at various hours, zones that do not, and zones where a day is missing. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'America/Sao_Paulo',
  'America/Havana',
  'America/St_Johns',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Africa/Casablanca',
];

interface Window {
  readonly what: string;
  readonly unit: CalendarUnit;
  readonly timeZone: string;
  readonly start: string;
  readonly end: string;
  readonly hours: number;
}

function windows(
  table: readonly (readonly [string, CalendarUnit, string, string, string, number])[],
): Window[] {
  return table.map(([what, unit, timeZone, start, end, hours]) => ({
    what,
    unit,
    timeZone,
    start,
    end,
    hours,
  }));
}

const DAYS = windows([
  ['an ordinary day', 'day', 'UTC', '2024-05-05T00:00Z', '2024-05-06T00:00Z', 24],
  ['the day clocks go forward', 'day', 'Europe/Berlin', '2024-03-30T23:00Z', '2024-03-31T22:00Z', 23],
  ['the day clocks go back', 'day', 'Europe/Berlin', '2024-10-26T22:00Z', '2024-10-27T23:00Z', 25],
  ['the day clocks go forward', 'day', 'America/New_York', '2024-03-10T05:00Z', '2024-03-11T04:00Z', 23],
  ['the day clocks go back', 'day', 'America/New_York', '2024-11-03T04:00Z', '2024-11-04T05:00Z', 25],
  [
    'the day clocks go half an hour forward',
    'day',
    'Australia/Lord_Howe',
    '2024-10-05T13:30Z',
    '2024-10-06T13:00Z',
    23.5,
  ],
  [
    'the day clocks go half an hour back',
    'day',
    'Australia/Lord_Howe',
    '2024-04-06T13:00Z',
    '2024-04-07T13:30Z',
    24.5,
  ],
  [
    'the day before a day without a midnight',
    'day',
    'America/Sao_Paulo',
    '2018-11-03T03:00Z',
    '2018-11-04T03:00Z',
    24,
  ],
  ['a day without a midnight', 'day', 'America/Sao_Paulo', '2018-11-04T03:00Z', '2018-11-05T02:00Z', 23],
  [
    'a day whose last hour comes twice',
    'day',
    'America/Sao_Paulo',
    '2019-02-16T02:00Z',
    '2019-02-17T03:00Z',
    25,
  ],
  ['the day after a repeated hour', 'day', 'America/Sao_Paulo', '2019-02-17T03:00Z', '2019-02-18T03:00Z', 24],
  ['a day without a midnight', 'day', 'Asia/Beirut', '2022-03-26T22:00Z', '2022-03-27T21:00Z', 23],
  ['a day whose last hour comes twice', 'day', 'Asia/Beirut', '2022-10-28T21:00Z', '2022-10-29T22:00Z', 25],
  ['a day whose midnight comes twice', 'day', 'America/Havana', '2023-11-05T04:00Z', '2023-11-06T05:00Z', 25],
  ['a day without a midnight', 'day', 'America/Havana', '2023-03-12T05:00Z', '2023-03-13T04:00Z', 23],
  [
    'a day whose first minute comes twice',
    'day',
    'America/St_Johns',
    '2010-11-07T02:30Z',
    '2010-11-08T03:30Z',
    25,
  ],
  ['the day before a skipped date', 'day', 'Pacific/Apia', '2011-12-29T10:00Z', '2011-12-30T10:00Z', 24],
  ['the day after a skipped date', 'day', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-31T10:00Z', 24],
  ['a day at UTC+5:45', 'day', 'Asia/Kathmandu', '2024-05-04T18:15Z', '2024-05-05T18:15Z', 24],
  ['29 February', 'day', 'UTC', '2024-02-29T00:00Z', '2024-03-01T00:00Z', 24],
  ['28 February 2100', 'day', 'UTC', '2100-02-28T00:00Z', '2100-03-01T00:00Z', 24],
]);

const WEEKS = windows([
  ['a week from Monday', 'week', 'UTC', '2024-05-06T00:00Z', '2024-05-13T00:00Z', 168],
  ['a week across the year’s end', 'week', 'UTC', '2024-12-30T00:00Z', '2025-01-06T00:00Z', 168],
  ['a week that ends with the year', 'week', 'UTC', '2017-12-25T00:00Z', '2018-01-01T00:00Z', 168],
  ['a week across the year’s end', 'week', 'Asia/Kathmandu', '2020-12-27T18:15Z', '2021-01-03T18:15Z', 168],
  [
    'the week in which clocks go forward',
    'week',
    'Europe/Berlin',
    '2024-03-24T23:00Z',
    '2024-03-31T22:00Z',
    167,
  ],
  [
    'the week in which clocks go back',
    'week',
    'America/New_York',
    '2024-10-28T04:00Z',
    '2024-11-04T05:00Z',
    169,
  ],
  ['a week of six days', 'week', 'Pacific/Apia', '2011-12-26T10:00Z', '2012-01-01T10:00Z', 144],
  ['a week that contains 29 February', 'week', 'UTC', '2024-02-26T00:00Z', '2024-03-04T00:00Z', 168],
]);

const MONTHS = windows([
  ['a month of 31 days', 'month', 'UTC', '2024-01-01T00:00Z', '2024-02-01T00:00Z', 31 * 24],
  ['a month of 30 days', 'month', 'UTC', '2024-04-01T00:00Z', '2024-05-01T00:00Z', 30 * 24],
  ['February of a leap year', 'month', 'UTC', '2024-02-01T00:00Z', '2024-03-01T00:00Z', 29 * 24],
  ['February 2000 (a leap year)', 'month', 'UTC', '2000-02-01T00:00Z', '2000-03-01T00:00Z', 29 * 24],
  ['February 2100 (not a leap year)', 'month', 'UTC', '2100-02-01T00:00Z', '2100-03-01T00:00Z', 28 * 24],
  ['February of a common year', 'month', 'Asia/Kathmandu', '2023-01-31T18:15Z', '2023-02-28T18:15Z', 28 * 24],
  ['December', 'month', 'America/New_York', '2024-12-01T05:00Z', '2025-01-01T05:00Z', 31 * 24],
  [
    'the month in which clocks go forward',
    'month',
    'Europe/Berlin',
    '2024-02-29T23:00Z',
    '2024-03-31T22:00Z',
    31 * 24 - 1,
  ],
  [
    'the month in which clocks go back',
    'month',
    'America/New_York',
    '2024-11-01T04:00Z',
    '2024-12-01T05:00Z',
    30 * 24 + 1,
  ],
  [
    'a month of 31 days that lost one day',
    'month',
    'Pacific/Apia',
    '2011-12-01T10:00Z',
    '2011-12-31T10:00Z',
    30 * 24,
  ],
]);

const YEARS = windows([
  ['a leap year', 'year', 'UTC', '2024-01-01T00:00Z', '2025-01-01T00:00Z', 366 * 24],
  ['2100', 'year', 'UTC', '2100-01-01T00:00Z', '2101-01-01T00:00Z', 365 * 24],
  ['a year', 'year', 'Europe/Berlin', '2022-12-31T23:00Z', '2023-12-31T23:00Z', 365 * 24],
  ['a year', 'year', 'Asia/Kathmandu', '2022-12-31T18:15Z', '2023-12-31T18:15Z', 365 * 24],
  // The offset was −10 hours at the start of the year and +14 hours at its end, so the year is a day shorter.
  ['a year of 364 days', 'year', 'Pacific/Apia', '2011-01-01T10:00Z', '2011-12-31T10:00Z', 364 * 24],
]);

describe('calendar', () => {
  for (const { what, unit, timeZone, start, end, hours } of [...DAYS, ...WEEKS, ...MONTHS, ...YEARS]) {
    test(`${what} in ${timeZone} lasts ${hours} hours, from ${start} to ${end}`, () => {
      const [from, to] = [Date.parse(start), Date.parse(end)];
      expect(to - from).toBe(hours * HOUR);
      for (const inside of [
        from,
        from + 0.25,
        from + 90_000,
        from + HOUR,
        (from + to) / 2,
        to - HOUR,
        to - 1,
        to - 0.25,
      ]) {
        const asked = calendar(unit, timeZone);
        expect([inside, asked.startOf(inside), asked.endOf(inside)]).toEqual([inside, from, to]);
      }
      expect(calendar(unit, timeZone).endOf(from - 1)).toBe(from);
      expect(calendar(unit, timeZone).startOf(to)).toBe(to);
    });
  }

  const UNITS_IN_TEN_YEARS = { day: 3652, week: 523, month: 120, year: 10 };

  for (const timeZone of ZONES) {
    for (const unit of CALENDAR_UNITS) {
      test(`over ten years, every ${unit} in ${timeZone} begins when the previous ${unit} ends`, () => {
        const asked = calendar(unit, timeZone);
        const years = calendar('year', timeZone);
        const [from, to] = [years.endOf(Date.UTC(2009, 6)), years.endOf(Date.UTC(2019, 6))];
        const dateAt = dateIn(timeZone);
        const broken: string[] = [];
        let units = 0;
        let end = asked.startOf(from);
        for (let instant = from; instant < to; instant += 5.61 * HOUR) {
          if (instant < end) continue;
          const start = asked.startOf(instant);
          const turnsDate = dateAt(start) !== dateAt(start - 1);
          if (start !== end || !turnsDate || asked.endOf(instant) <= instant)
            broken.push(new Date(instant).toISOString());
          end = asked.endOf(instant);
          units++;
        }
        expect(broken).toEqual([]);
        const missing = timeZone === 'Pacific/Apia' && unit === 'day' ? 1 : 0;
        expect(units).toBe(UNITS_IN_TEN_YEARS[unit] - missing);
      });
    }

    test(`the result for a day in ${timeZone} does not depend on earlier calls`, () => {
      const [onward, back] = [calendar('day', timeZone), calendar('day', timeZone)];
      const instants = Array.from({ length: 300 }, (_, i) => Date.UTC(2010, 0) + i * 293.3 * HOUR);
      const days = instants.map((instant) => [onward.startOf(instant), onward.endOf(instant)]);
      const again = instants.toReversed().map((instant) => [back.startOf(instant), back.endOf(instant)]);
      expect(again.toReversed()).toEqual(days);
    });
  }
});

describe('fixedWindow on a calendar', () => {
  for (const { what, unit, timeZone, start, end } of [...DAYS, ...WEEKS, ...MONTHS, ...YEARS]) {
    test(`${what} in ${timeZone} is one window from ${start} to ${end}`, () => {
      const [from, to] = [Date.parse(start), Date.parse(end)];
      for (const first of [from, from + 90_000, (from + to) / 2, to - 1000]) {
        const clock = manualClock(first);
        const limiter = createLimiter(fixedWindow({ limit: 2, align: unit, timeZone }), {
          store: memory({ clock }),
        });
        expect(limiter.take('k')).toMatchObject({
          allowed: true,
          remaining: 1,
          retryAfter: 0,
          resetAfter: to - first,
        });
        expect(limiter.take('k')).toMatchObject({ allowed: true, remaining: 0, resetAfter: to - first });
        expect(limiter.take('k')).toMatchObject({
          allowed: false,
          retryAfter: to - first,
          resetAfter: to - first,
        });
        clock.set(to - 1);
        expect(limiter.take('k')).toMatchObject({ allowed: false, remaining: 0, retryAfter: 1 });
        clock.set(to);
        expect(limiter.peek('k')).toMatchObject({ allowed: true, remaining: 2, resetAfter: 0 });
        expect(limiter.take('k')).toMatchObject({ allowed: true, remaining: 1 });
      }
    });
  }

  test('uses the UTC calendar by default', () => {
    const clock = manualClock(Date.parse('2024-05-05T23:59:59Z'));
    const limiter = createLimiter(fixedWindow({ limit: 1, align: 'day' }), { store: memory({ clock }) });
    expect(limiter.take('k')).toMatchObject({ allowed: true, resetAfter: 1000 });
    expect(limiter.take('k')).toMatchObject({ allowed: false, retryAfter: 1000 });
  });

  test('keys that were last used in different months have separate windows', () => {
    const clock = manualClock(Date.parse('2024-01-31T22:59:59Z'));
    const policy = fixedWindow({ limit: 1, align: 'month', timeZone: 'Europe/Berlin' });
    const limiter = createLimiter(policy, { store: memory({ clock }) });
    limiter.take('january');
    clock.set(Date.parse('2024-02-29T22:59:59Z'));
    limiter.take('february');
    expect(limiter.peek('january').allowed).toBe(true);
    expect(limiter.peek('february')).toMatchObject({ allowed: false, retryAfter: 1000 });
  });

  for (const timeZone of ['Europe/Nowhere', 'Mars/Olympus_Mons', 'Berlin', 'UTC+25', '', ' ']) {
    test(`rejects ${JSON.stringify(timeZone)} as a time zone`, () => {
      const refused = expect.objectContaining({
        code: 'ERR_TIME_ZONE',
        option: 'fixedWindow.timeZone',
        value: timeZone,
      });
      for (const unit of CALENDAR_UNITS) {
        expect(() => fixedWindow({ limit: 1, align: unit, timeZone })).toThrow(refused);
        expect(() => fixedWindow({ limit: 1, align: unit, timeZone })).toThrow(SluiceError);
        expect(() => calendar(unit, timeZone)).toThrow(refused);
      }
    });
  }
});

function dateIn(timeZone: string): (instant: number) => string {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' });
  return (instant) => format.format(instant);
}
