/** Parses log lines into requests: time, key and cost. */
import type { Millis } from 'sluice';
import { UsageError } from '../../config/usage-error.ts';
import { splitCsv } from './csv.ts';

export interface Request {
  readonly at: Millis;
  readonly key: string;
  readonly cost: number;
}

/** Returns undefined for a line that cannot be parsed. */
export type ReadLine = (line: string) => Request | undefined;

export type Format = 'plain' | 'combined' | 'json' | 'csv';
export const FORMATS: readonly Format[] = ['plain', 'combined', 'json', 'csv'];

/** Guesses the format from the first line. */
export function formatOf(line: string): Format {
  if (line.startsWith('{')) return 'json';
  if (line.includes(',') && splitCsv(line).some((name) => TIME_NAMES.includes(name))) return 'csv';
  return COMMON.test(line) ? 'combined' : 'plain';
}

/** `by` names the part of a line that is the key. `first` is the first line; in CSV, it holds the column names. */
export function readerOf(format: Format, by: string | undefined, first: string): ReadLine {
  if (format === 'csv') return csvReader(by ?? 'key', splitCsv(first));
  if (format === 'json') return jsonReader(by ?? 'key');
  return format === 'combined' ? commonReader(by ?? 'ip') : readPlain;
}

/** Parses a line of the form `timestamp key [cost]`. The timestamp is ISO 8601, or seconds or milliseconds since 1970. */
function readPlain(line: string): Request | undefined {
  const [time = '', key, cost = '1'] = line.trim().split(/\s+/);
  return key === undefined ? undefined : requestOf(timeOf(time), key, Number(cost));
}

/** Matches a line in the log format of Nginx and Apache: ip ident user [time] "METHOD path HTTP/1.1" status bytes … */
const COMMON = /^(\S+) (\S+) (\S+) \[([^\]]+)\] "(?:(\S+) )?([^" ?]*)(?:[ ?][^"]*)?" (\d{3}|-)/;
const STAMP = /^(\d{2})\/(\w{3})\/(\d{4}):(\d{2}:\d{2}:\d{2}) ([+-]\d{2})(\d{2})$/;

const COMMON_PARTS: Readonly<Record<string, (parts: RegExpExecArray) => string>> = {
  ip: (parts) => parts[1],
  user: (parts) => parts[3],
  method: (parts) => parts[5] ?? '',
  path: (parts) => parts[6],
  status: (parts) => parts[7],
  all: () => '*',
};

export const COMMON_KEYS: readonly string[] = Object.keys(COMMON_PARTS);

function commonReader(by: string): ReadLine {
  const [first, ...others] = by.split('+').map((name) => COMMON_PARTS[name] ?? (() => ''));
  const stampOf = stampReader();
  return (line) => {
    const parts = COMMON.exec(line);
    if (parts === null) return undefined;
    let key = first?.(parts) ?? '';
    for (const other of others) key += ` ${other(parts)}`;
    return requestOf(stampOf(parts[4]), key, 1);
  };
}

/**
 * Returns a parser for times such as '10/Oct/2024:13:55:36 -0700'. It caches the last result, because consecutive lines often
 * have the same time.
 */
function stampReader(): (text: string) => Millis {
  let last = '';
  let at = Number.NaN;
  return (text) => {
    if (text === last) return at;
    const [, day, month, year, time, hours, minutes] = STAMP.exec(text) ?? [];
    last = text;
    at = time === undefined ? Number.NaN : Date.parse(`${day} ${month} ${year} ${time} ${hours}${minutes}`);
    return at;
  };
}

const TIME_NAMES = ['time', 'timestamp', 'ts', '@timestamp', 'date', 'at'];

function jsonReader(by: string): ReadLine {
  const names = by.split('+');
  return (line) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return undefined;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    const members = value as Record<string, unknown>;
    const time = TIME_NAMES.find((name) => Object.hasOwn(members, name));
    const parts = names.map((name) => (Object.hasOwn(members, name) ? members[name] : undefined));
    if (time === undefined || parts.includes(undefined)) return undefined;
    const { cost = 1 } = members;
    return requestOf(timeOf(String(members[time])), parts.map(String).join(' '), Number(cost));
  };
}

function csvReader(by: string, columns: readonly string[]): ReadLine {
  const time = columns.findIndex((name) => TIME_NAMES.includes(name));
  const cost = columns.indexOf('cost');
  const names = by.split('+');
  const unknown = names.find((name) => !columns.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`--by must be a column (${columns.join(', ')}); got ${unknown}`);
  if (time < 0)
    throw new UsageError(
      `no time column found. Rename the column that contains the time to one of ${TIME_NAMES.join(', ')}`,
    );
  const keys = names.map((name) => columns.indexOf(name));
  return (line) => {
    const cells = splitCsv(line);
    const parts = keys.map((at) => cells[at]);
    if (parts.includes(undefined as never)) return undefined;
    return requestOf(timeOf(cells[time] ?? ''), parts.join(' '), cost < 0 ? 1 : Number(cells[cost]));
  };
}

/** Timestamps below this number are read as seconds, because in milliseconds they would be before 1973. */
const SECONDS_BELOW = 1e11;

function timeOf(text: string): Millis {
  const number = Number(text);
  if (Number.isNaN(number)) return Date.parse(text);
  return Math.abs(number) < SECONDS_BELOW ? number * 1000 : number;
}

function requestOf(at: Millis, key: string, cost: number): Request | undefined {
  return Number.isFinite(at) && at >= 0 && cost >= 0 && cost <= 2 ** 53 ? { at, key, cost } : undefined;
}
