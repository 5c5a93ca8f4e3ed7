/** sluice top: a live server in the terminal, from its metrics. */
import { type Flags, readArgs } from '../args.ts';
import type { Output } from '../check.ts';
import { UsageError } from '../store.ts';
import { spanOf } from './span.ts';

export const TOP_FLAGS: Flags = {
  every: { value: 'TIME', help: 'how often to look; default 1s' },
  times: { value: 'N', help: 'how often in all; default without end' },
  'token-file': { value: 'FILE', help: 'a token of the HTTP door; or SLUICE_HTTP_TOKEN' },
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
  return text.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
}

interface Row {
  readonly limit: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** Between two looks, `seconds` apart; without an earlier one, since the server began. */
export function showTop(
  now: readonly MetricSample[],
  before: readonly MetricSample[],
  seconds: number,
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
  const lines = rates.slice(0, 15).map(({ limit, allowed, denied }) => line(allowed, denied, plain(limit)));
  const worst = now
    .filter(({ name }) => name === 'sluice_top_denied')
    .slice(0, 15)
    .map(
      ({ labels, value }) =>
        `${String(value).padStart(10)}  ${plain(labels['limit'])}  ${plain(labels['key'])}`,
    );
  return [
    `store ${isUp ? 'up' : 'DOWN'}`,
    '',
    ' allowed/s   denied/s  limit',
    line(sum('allowed'), sum('denied'), 'all'),
    ...lines,
    ...(worst.length > 0 ? ['', '    denied  limit and key, most often'] : []),
    ...worst,
    '',
  ].join('\n');
}

function line(allowed: number, denied: number, name: string): string {
  return `${allowed.toFixed(1).padStart(10)} ${denied.toFixed(1).padStart(10)}  ${name}`;
}

/** Keys come from strangers: nothing of them may steer the terminal. */
function plain(text = ''): string {
  return text.replace(/\p{C}/gu, '·').slice(0, 80);
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

const CLEAR = '\u001b[H\u001b[2J';

export async function topCommand(
  argv: readonly string[],
  { out }: Output,
  readToken: (file: string | undefined) => string | undefined,
): Promise<number> {
  const args = readArgs(argv, TOP_FLAGS);
  const [url = 'http://127.0.0.1:8080', ...more] = args.positionals;
  if (more.length > 0 || !URL.canParse('/metrics', url))
    throw new UsageError(`which server? got ${args.positionals.join(' ')}`);
  const every = spanOf('--every', args.text('every') ?? '1s');
  const times = args.whole('times') ?? Infinity;
  const token = readToken(args.text('token-file'));
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  let before: MetricSample[] = [];
  let since = 0;
  for (let i = 0; i < times; i++) {
    const response = await fetch(new URL('/metrics', url), { headers }).catch((error: unknown) => {
      throw new UsageError(`${url} does not answer: ${String((error as Error).cause ?? error)}`);
    });
    if (!response.ok) throw new UsageError(`${url} answers ${response.status}`);
    const now = readMetrics(await response.text());
    const began = now.find(({ name }) => name === 'process_start_time_seconds')?.value ?? 0;
    const at = Date.now() / 1000;
    const seconds = Math.max(0.001, at - (since === 0 ? began : since));
    out(`${process.stdout.isTTY === true ? CLEAR : ''}${url}\n${showTop(now, before, seconds)}`);
    before = now;
    since = at;
    if (i + 1 < times) await new Promise((resolve) => setTimeout(resolve, every));
  }
  return 0;
}
