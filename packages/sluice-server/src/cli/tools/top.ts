/** sluice top: shows a running server's metrics in the terminal. */
import { type Flags, readArgs } from '../args.ts';
import type { Output } from '../check.ts';
import { UsageError } from '../../config/usage-error.ts';
import { CommandFailure } from '../command-failure.ts';
import { printable } from './printable.ts';
import { durationOf } from './duration.ts';

export const TOP_FLAGS: Flags = {
  every: { value: 'TIME', help: 'interval between updates; default 1s' },
  times: { value: 'N', help: 'number of updates; default unlimited' },
  'token-file': { value: 'FILE', help: 'file with a token for the HTTP listener; or set SLUICE_HTTP_TOKEN' },
};

export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

export function readMetrics(text: string): MetricSample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    if (name === undefined) return [];
    const pairs = [...labels.matchAll(LABEL)].map(([, label, raw]) => [label, unescaped(raw)]);
    return [{ name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }];
  });
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

interface Row {
  readonly limit: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Formats the rates between two samples that are `seconds` apart. `most` is the maximum number of lines in each list. */
export function showTop(
  now: readonly MetricSample[],
  before: readonly MetricSample[],
  seconds: number,
  most = 15,
): string {
  const earlier = new Map(rowsOf(before).map(({ limit, counts }) => [limit, counts]));
  const rates = rowsOf(now).map(({ limit, counts }) => {
    const rate = (outcome: string) =>
      ((counts[outcome] ?? 0) - (earlier.get(limit)?.[outcome] ?? 0)) / seconds;
    return { limit, allowed: rate('allowed'), denied: rate('denied') + rate('shadowed') };
  });
  rates.sort((a, b) => b.allowed + b.denied - a.allowed - a.denied);
  const sum = (part: 'allowed' | 'denied') => rates.reduce((all, row) => all + row[part], 0);
  const isUp = now.find(({ name }) => name === 'sluice_store_up')?.value !== 0;
  const lines = rates
    .slice(0, most)
    .map(({ limit, allowed, denied }) => line(allowed, denied, printable(limit)));
  const worst = now
    .filter(({ name }) => name === 'sluice_top_denied')
    .slice(0, most)
    .map(
      ({ labels, value }) =>
        `${String(value).padStart(10)}  ${printable(labels['limit'])}  ${printable(labels['key'])}`,
    );
  return [
    `store ${isUp ? 'up' : 'DOWN'}`,
    '',
    ' allowed/s   denied/s  limit',
    line(sum('allowed'), sum('denied'), 'all'),
    ...lines,
    ...(worst.length > 0 ? ['', '    denied  limit and key (most denied first)'] : []),
    ...worst,
    '',
  ].join('\n');
}

function line(allowed: number, denied: number, name: string): string {
  return `${allowed.toFixed(1).padStart(10)} ${denied.toFixed(1).padStart(10)}  ${name}`;
}

function rowsOf(samples: readonly MetricSample[]): Row[] {
  const rows = new Map<string, Record<string, number>>();
  for (const { name, labels, value } of samples) {
    const { limit, outcome } = labels;
    if (name !== 'sluice_decisions_total' || limit === undefined || outcome === undefined) continue;
    const counts = rows.get(limit) ?? {};
    counts[outcome] = value;
    rows.set(limit, counts);
  }
  return [...rows].map(([limit, counts]) => ({ limit, counts }));
}

/** Overwrites the screen line by line from the top left corner. Clearing the screen first would make it flicker. */
function redrawn(text: string, columns: number): string {
  const lines = text.split('\n').map((one) => `${one.slice(0, columns)}\u001b[K`);
  return `\u001b[H${lines.join('\n')}\u001b[J`;
}

interface Sampling {
  readonly samples: readonly MetricSample[];
  /** Seconds since 1970. */
  readonly at: number;
  readonly startedAt: number;
}

async function sampleMetrics(url: string, headers: Record<string, string>): Promise<Sampling> {
  const response = await fetch(new URL('/metrics', url), { headers }).catch((error: unknown) => {
    const reason = String((error as Error).cause ?? error);
    throw new CommandFailure(
      `cannot reach ${url}: ${reason}. Check that the server is running, and pass the URL of its HTTP listener.`,
    );
  });
  if (!response.ok)
    throw new CommandFailure(`${url} responded with status ${response.status}. ${hintFor(response.status)}`);
  const samples = readMetrics(await response.text());
  const startedAt = samples.find(({ name }) => name === 'process_start_time_seconds')?.value ?? 0;
  return { samples, startedAt, at: Date.now() / 1000 };
}

/** What to do about a response that is not the metrics of a server. */
function hintFor(status: number): string {
  if (status === 401 || status === 403)
    return 'Pass a token that permits the verb metrics, with --token-file or SLUICE_HTTP_TOKEN.';
  return 'Pass the URL of the HTTP listener of a Sluice server.';
}

export async function topCommand(
  argv: readonly string[],
  { out }: Output,
  readToken: (file: string | undefined) => string | undefined,
): Promise<number> {
  const args = readArgs(argv, TOP_FLAGS);
  const [url = 'http://127.0.0.1:8080', ...more] = args.positionals;
  if (more.length > 0 || !URL.canParse('/metrics', url))
    throw new UsageError(`expected the URL of one server; got ${args.positionals.join(' ')}`);
  const every = durationOf('--every', args.text('every') ?? '1s');
  const times = args.integer('times') ?? Infinity;
  const token = readToken(args.text('token-file'));
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  let last: Sampling | undefined;

  /**
   * Returns the text to show. If the server cannot be reached, the first call throws, which ends the command; later calls return
   * the error as text.
   */
  async function show(): Promise<string> {
    try {
      const now = await sampleMetrics(url, headers);
      // After a restart, the server's counters start from zero.
      const before = last?.startedAt === now.startedAt ? last : undefined;
      const seconds = Math.max(0.001, now.at - (before?.at ?? now.startedAt));
      last = now;
      return showTop(now.samples, before?.samples ?? [], seconds, roomFor(process.stdout.rows || ROWS));
    } catch (error) {
      if (last === undefined || !(error instanceof CommandFailure)) throw error;
      return `${error.message}\n`;
    }
  }

  for (let i = 0; i < times; i++) {
    const text = `${url}\n${await show()}`;
    out(process.stdout.isTTY === true ? redrawn(text, process.stdout.columns || Infinity) : text);
    if (i + 1 < times) await new Promise((resolve) => setTimeout(resolve, every));
  }
  return 0;
}

/** Assumed height of a terminal that does not report its height, in lines. */
const ROWS = 38;

/** Number of lines available for each of the two lists. Everything else on the screen uses eight lines. */
function roomFor(rows: number): number {
  return Math.max(1, Math.floor((rows - 8) / 2));
}
