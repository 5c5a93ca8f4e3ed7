/** sluice replay: shows what a limit would have done to the traffic in a log. Logs may be large, so they are streamed. */
import { writeFileSync } from 'node:fs';
import { type Args, type Flags, readArgs } from '../args.ts';
import type { Output } from '../check.ts';
import { type Seen, SpaceSaving } from '../../telemetry/metrics/space-saving.ts';
import { UsageError } from '../../config/usage-error.ts';
import { linesOf, progressBar } from './lines.ts';
import {
  COMMON_KEYS,
  FORMATS,
  type Format,
  formatOf,
  type ReadLine,
  readerOf,
  type Request,
} from './log-lines.ts';
import { printable } from './printable.ts';
import { POLICY_FLAGS, type Trial, trialOf } from './policy.ts';
import { showReport } from './report.ts';
import { durationOf } from './duration.ts';
import { type Ladder, ladderOf } from './suggest.ts';
import { Tally } from './tally.ts';

export const REPLAY_FLAGS: Flags = {
  ...POLICY_FLAGS,
  format: {
    value: 'NAME',
    help: 'plain (time key [cost]), combined (Nginx, Apache), json or csv; default: detected from the first line',
  },
  by: {
    value: 'NAME',
    help: `what to use as the key: ${COMMON_KEYS.join(', ')}, or the name of a JSON member or CSV column; a+b combines two`,
  },
  every: {
    value: 'TIME',
    help: 'time covered by each row of the output; by default chosen to give at most 60 rows',
  },
  top: { value: 'N', help: 'how many of the most denied keys to list; default 10' },
  html: { value: 'FILE', help: 'also write the report as an HTML page with a chart' },
  suggest: {
    value: 'SHARE',
    help: 'find the smallest limit that allows this percentage of the requests, such as 99.9%',
  },
};

interface Replayed {
  readonly tally: Tally;
  readonly denied: SpaceSaving;
  ladder: Ladder | undefined;
  unparsed: number;
}

export async function replayCommand(argv: readonly string[], { out, err }: Output): Promise<number> {
  const args = readArgs(argv, REPLAY_FLAGS);
  const [file, ...more] = args.positionals;
  if (file === undefined || more.length > 0)
    throw new UsageError('exactly one log must be given, as in `sluice replay access.log --policy 10/s`');
  const trial = trialOf(args, args.text('policy'));
  const share = shareOf(args);
  const every = args.text('every');
  const replayed: Replayed = {
    tally: new Tally(every === undefined ? undefined : durationOf('--every', every)),
    denied: new SpaceSaving(1000),
    // Standard input can be read only once, so the search uses finer steps from the start.
    ladder: share === undefined ? undefined : ladderOf(trial.text, file === '-' ? 4 : 1),
    unparsed: 0,
  };
  await readLog(file, args, err, (request) => tryOne(replayed, trial, request));
  if (share !== undefined && file !== '-')
    await refine(replayed, share, (each) => readLog(file, args, err, each));
  const worst = replayed.denied.top(args.integer('top') ?? 10);
  const notes = notesOf(replayed, share);
  const { tally } = replayed;
  out(showText(trial.text, tally, worst, notes));
  const page = args.text('html');
  if (page !== undefined) {
    const parts = { policy: trial.text, source: file, summary: tally.summary(), worst, notes };
    writeFileSync(page, showReport({ ...parts, rows: tally.inOrder(), step: tally.step }));
  }
  return tally.total === 0 ? 1 : 0;
}

/** Calls `each` for every line that is not empty, with undefined if the line cannot be parsed. */
async function readLog(file: string, args: Args, err: Output['err'], each: EachRequest): Promise<void> {
  const onRead = process.stderr.isTTY === true ? progressBar(err) : () => {};
  let read: ReadLine | undefined;
  for await (const lines of linesOf(file, onRead)) {
    for (const ended of lines) {
      const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
      if (line === '') continue;
      if (read === undefined) {
        const format = args.choice('format', FORMATS) ?? formatOf(line);
        read = lineReader(args, format, line);
        if (format === 'csv') continue;
      }
      each(read(line));
    }
  }
}

type EachRequest = (request: Request | undefined) => void;

async function refine(
  replayed: Replayed,
  share: number,
  again: (each: EachRequest) => Promise<void>,
): Promise<void> {
  for (let finer = replayed.ladder?.finer(share); finer !== undefined; finer = finer.finer(share)) {
    const ladder = finer;
    await again((request) => request && ladder.try(request));
    replayed.ladder = ladder;
  }
}

function tryOne(replayed: Replayed, trial: Trial, request: Request | undefined): void {
  if (request === undefined) {
    replayed.unparsed++;
    return;
  }
  const decision = trial.take(request.key, request.cost, request.at);
  replayed.tally.add(request.at, decision);
  if (!decision.allowed) replayed.denied.see(request.key);
  replayed.ladder?.try(request);
}

function lineReader(args: Args, format: Format, first: string): ReadLine {
  const by = args.text('by');
  const unknown = by?.split('+').find((name) => !COMMON_KEYS.includes(name));
  if (format === 'combined' && unknown !== undefined)
    throw new UsageError(
      `--by must be one of ${COMMON_KEYS.join(', ')}, or several joined with +; got ${unknown}`,
    );
  return readerOf(format, by, first);
}

function shareOf(args: Args): number | undefined {
  const text = args.text('suggest');
  if (text === undefined) return undefined;
  const share = text.endsWith('%') ? Number(text.slice(0, -1)) / 100 : Number(text);
  if (!(share > 0 && share <= 1))
    throw new UsageError(`--suggest must be a percentage such as 99.9%; got ${text}`);
  return share;
}

function notesOf({ ladder, unparsed }: Replayed, share: number | undefined): string[] {
  const notes = unparsed > 0 ? [`${unparsed} lines could not be parsed`] : [];
  if (ladder === undefined || share === undefined) return notes;
  const found = ladder.best(share);
  const percent = `${Number((share * 100).toFixed(6))} %`;
  if (found === undefined)
    return [...notes, `no limit up to 256 times the given limit allows ${percent} of the requests`];
  return [
    ...notes,
    `to allow ${percent} of the requests: ${found.text} (allows ${(found.share * 100).toFixed(3)} %)`,
  ];
}

function showText(policy: string, tally: Tally, worst: readonly Seen[], notes: readonly string[]): string {
  const names = worst.map(
    ({ name, count, error }) =>
      `${String(count).padStart(9)}  ${printable(name)}${error > 0 ? `  (up to ${error} fewer)` : ''}\n`,
  );
  const lines = notes.map((note) => `${note}\n`);
  if (names.length > 0) lines.push('\ndenied most often\n', ...names);
  const table = tally.table((start) => new Date(start).toISOString().slice(0, 19));
  return `${policy}\n\n${table}\n${tally.summary()}${lines.join('')}`;
}
