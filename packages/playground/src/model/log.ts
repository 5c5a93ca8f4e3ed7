/**
 * Reads a recorded log as traffic. The log is an access log (common or combined), JSON lines, CSV with a header, or one time per
 * line.
 */
import type { Millis } from 'sluice';
import { MOST_EVENTS, type Traffic, trafficOf } from './traffic.ts';

export interface Recording {
  readonly name: string;
  readonly traffic: Traffic;
  /**
   * The field that identifies callers, which is a JSON member, a CSV column, or 'ip'. Undefined for formats without field names.
   */
  readonly by: string | undefined;
  /** The number of lines without a valid time. */
  readonly skipped: number;
}

interface Line {
  readonly time: Millis;
  readonly name: string;
}

interface Reader {
  readonly by: string | undefined;
  read(line: string): Line | undefined;
}

const TIMES = ['time', 'timestamp', 'ts', '@timestamp', 'date', 'datetime', 'time_iso8601', 'at'];
const NAMES = ['key', 'ip', 'remote_addr', 'client_ip', 'remote_ip', 'client', 'addr', 'user', 'user_id'];

export function readLog(name: string, text: string): Recording {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const reader = readerFor(lines[0] ?? '');
  const found: Line[] = [];
  let skipped = 0;
  for (const line of lines) {
    const read = reader.read(line);
    if (read !== undefined && Number.isFinite(read.time)) found.push(read);
    else skipped++;
  }
  if (found.length === 0) throw new Error(`${name} contains no line with a valid time`);
  // The header line of a CSV file does not count as skipped.
  if (isCsv(lines[0] ?? '')) skipped--;
  found.sort((a, b) => a.time - b.time);
  const kept = found.slice(0, MOST_EVENTS + 1);
  const first = Math.floor(kept[0].time / 1000) * 1000;
  const last = kept[Math.min(kept.length, MOST_EVENTS) - 1].time;
  const length = Math.max(1000, Math.ceil((last - first + 1) / 1000) * 1000);
  const asked = kept.map(({ time, name: who }) => ({ time: time - first, name: who }));
  return { name, traffic: trafficOf(asked, first, length), by: reader.by, skipped };
}

function readerFor(first: string): Reader {
  if (first.trimStart().startsWith('{')) return jsonReader(first);
  if (isCsv(first)) return csvReader(first);
  return ACCESS.test(first) ? { by: 'ip', read: accessLine } : { by: undefined, read: bareLine };
}

const ACCESS = /^(\S+) .*?\[(\d{2})\/(\w{3})\/(\d{4}):(\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})\]/;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function accessLine(line: string): Line | undefined {
  const match = ACCESS.exec(line);
  if (match === null) return undefined;
  const [, name = '', day, month = '', year, clock, zone, minutes] = match;
  const number = String(MONTHS.indexOf(month) + 1).padStart(2, '0');
  return { name, time: Date.parse(`${year}-${number}-${day}T${clock}${zone}:${minutes}`) };
}

function jsonReader(first: string): Reader {
  const sample = parsed(first) ?? {};
  const by = NAMES.find((one) => sample[one] !== undefined);
  return {
    by,
    read(line) {
      const entry = parsed(line);
      const time = TIMES.find((one) => entry?.[one] !== undefined);
      if (entry === undefined || time === undefined) return undefined;
      return { time: instant(entry[time]), name: by === undefined ? 'all' : String(entry[by]) };
    },
  };
}

function parsed(line: string): Record<string, string | number | undefined> | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isCsv(first: string): boolean {
  return (
    cells(first).some((cell) => TIMES.includes(cell.toLowerCase())) && !first.trimStart().startsWith('{')
  );
}

function csvReader(header: string): Reader {
  const titles = cells(header).map((cell) => cell.toLowerCase());
  const time = titles.findIndex((title) => TIMES.includes(title));
  const name = titles.findIndex((title) => NAMES.includes(title));
  return {
    by: titles[name],
    read(line) {
      const row = cells(line);
      return { time: instant(row[time]), name: name < 0 ? 'all' : (row[name] ?? 'all') };
    },
  };
}

/** Splits a CSV line. Quoted cells may contain commas. */
function cells(line: string): string[] {
  return (line.match(/("([^"]|"")*"|[^,]*)(,|$)/g) ?? []).map((cell) =>
    cell.replace(/,$/, '').trim().replace(/^"|"$/g, '').replaceAll('""', '"'),
  );
}

/** Parses a line with a time and an optional key, such as '1760000000.5 alice'. */
function bareLine(line: string): Line | undefined {
  const [time = '', name = 'all'] = line.trim().split(/\s+/);
  return { time: instant(time), name };
}

/** The latest instant that a Date can represent, in the year 275760. */
const LAST: Millis = 8e15;

/** Parses epoch seconds, epoch milliseconds or an ISO 8601 date. Returns NaN for anything else. */
function instant(value: unknown): Millis {
  const number = typeof value === 'number' ? value : Number(value);
  if (value === '' || Number.isNaN(number)) return Date.parse(String(value));
  const millis = Math.abs(number) < 1e11 ? number * 1000 : number;
  return Math.abs(millis) < LAST ? millis : Number.NaN;
}
