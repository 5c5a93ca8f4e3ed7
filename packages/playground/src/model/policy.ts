/** A limit's text and its numbers, each made from the other. What a text means is for the library to say. */
import { createLimiter, type Millis, type Policies, type Policy, SluiceError } from 'sluice';
import { type AlgorithmName, ALGORITHMS, BURSTY, UNRATED } from './algorithms.ts';
import { spanText } from './format.ts';
import { type Options, policyOf, readOptions, Unreadable, writeOptions } from './options-text.ts';

/** One policy of a text. */
export interface Part {
  readonly algorithm: AlgorithmName;
  /** Infinity: it bounds no rate. */
  readonly limit: number;
  readonly per: Millis;
  /** The span as it was written: 'min', '10s', 'month'. */
  readonly span: string;
  readonly burst: number | undefined;
  /** Where it was written with options instead of a rate. */
  readonly options?: Options | undefined;
}

/** Where a text is wrong, in characters, and why. */
export interface Mistake {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

export type Reading =
  | { readonly parts: readonly Part[]; readonly mistake?: undefined }
  | { readonly mistake: Mistake };

/** For createLimiter: the text itself where the library reads it, else its policies by their texts. */
export function policiesOf(text: string): Policies {
  const pieces = text.split('&').map((piece) => piece.trim());
  const read = pieces.map((piece) => readOptions(piece));
  if (read.every((one) => one === undefined)) return text;
  const named: Record<string, string | Policy> = {};
  for (const [i, piece] of pieces.entries()) {
    if (Object.hasOwn(named, piece)) throw new Unreadable(piece, `${piece} is given twice`);
    const own = read[i];
    named[piece] = own === undefined ? piece : policyOf(own.algorithm, own.options);
  }
  return named;
}

export function read(text: string): Reading {
  const parts: Part[] = [];
  let from = 0;
  for (const piece of text.split('&')) {
    const mistake = tried(() => parts.push(partOf(piece.trim())), piece, from);
    if (mistake !== undefined) return { mistake };
    from += piece.length + 1;
  }
  const last = text.split('&').at(-1) as string;
  const together = tried(() => createLimiter(policiesOf(text)), last, text.length - last.length);
  return together === undefined ? { parts } : { mistake: together };
}

export function write(parts: readonly Part[]): string {
  return parts
    .map(({ algorithm, limit, span, burst, options }) => {
      if (options !== undefined) return writeOptions(algorithm, options);
      const own = algorithm === 'gcra' ? '' : ` ${algorithm}`;
      return `${limit}/${span}${own}${burst === undefined ? '' : ` burst ${burst}`}`;
    })
    .join(' & ');
}

/** Another number in a part; what no longer fits is dropped. */
export function changed(part: Part, change: Partial<Part>): Part {
  const next = { ...part, ...change };
  if (change.algorithm !== undefined) {
    if (next.limit === Infinity) next.limit = 10;
    next.options = UNRATED.includes(next.algorithm) ? optionsFor(next) : undefined;
  }
  if (change.per !== undefined) next.span = spanText(change.per);
  if (!BURSTY.includes(next.algorithm)) next.burst = undefined;
  if (next.span === 'month' || next.span === 'year')
    next.span = next.algorithm === 'fixed-window' ? next.span : spanText(next.per);
  return next;
}

/** About as strict as the rate was. */
function optionsFor({ algorithm, limit, per }: Part): Options {
  const round = (span: Millis) => spanText(Math.max(1, Math.round(span)));
  if (algorithm === 'concurrency') return { limit: Math.max(1, Math.round(limit)), lease: round(per) };
  if (algorithm === 'min-interval') return { every: round(per / limit) };
  return { after: 3, within: round(per), block: round(per) };
}

function tried(make: () => unknown, piece: string, from: number): Mistake | undefined {
  try {
    make();
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError || error instanceof Unreadable)) throw error;
    return located(piece, from, error);
  }
}

/** What stands in the brackets of the message, without what frames it. */
function hintOf(message: string): string {
  const inner = /\(([\s\S]*)\); got /.exec(message)?.[1] ?? message;
  if (inner.includes('denies by itself')) return 'needs another limit beside it, such as 10/s &';
  return inner.replace(/ \[ERR_\w+\]$/, '');
}

function located(piece: string, from: number, error: SluiceError | Unreadable): Mistake {
  const why = hintOf(error.message);
  const lead = piece.length - piece.trimStart().length;
  const whole = { from: from + lead, to: from + Math.max(piece.trimEnd().length, lead + 1), why };
  if (piece.trim() === '') return { ...whole, why: 'a limit is missing here, such as 10/s' };
  const at = piece.includes('{') ? placeInOptions(piece, error) : placeOf(piece, why);
  return at === undefined ? whole : { from: from + at[0], to: from + at[1], why };
}

type Place = readonly [from: number, to: number];

/** The word that the hint quotes, or the number of the option that it names. */
function placeOf(piece: string, why: string): Place | undefined {
  const quoted = /"([^"]+)"/.exec(why)?.[1];
  const start = quoted === undefined ? -1 : piece.toLowerCase().indexOf(quoted.toLowerCase());
  if (quoted !== undefined && start >= 0) return [start, start + quoted.length];
  const burst = /burst(\s+\S*)?/i.exec(piece);
  if (/burst|capacity|size/i.test(why) && burst !== null) return [burst.index, burst.index + burst[0].length];
  const number = /[\d_.]+/.exec(piece);
  return /limit|refill|drip/i.test(why) && number !== null
    ? [number.index, number.index + number[0].length]
    : undefined;
}

/** The words that are to blame, or the option that the library names, with its value. */
function placeInOptions(piece: string, error: SluiceError | Unreadable): Place | undefined {
  if (error instanceof Unreadable) {
    const start = piece.indexOf(error.words);
    return start < 0 ? undefined : [start, start + error.words.length];
  }
  const name = error.option.split('.').at(-1);
  const start = [...piece.matchAll(/\w+/g)].find(([word]) => word === name)?.index;
  if (start === undefined) return undefined;
  const [member = ''] = /^[^,}]*/.exec(piece.slice(start)) ?? [];
  return [start, start + member.trimEnd().length];
}

/** Throws where the library does; of a text that it accepts, reading the rest needs no care. */
function partOf(text: string): Part {
  const own = readOptions(text);
  if (own !== undefined) {
    const { limit, window: per } = policyOf(own.algorithm, own.options);
    return { ...own, limit, per, span: spanText(per), burst: undefined };
  }
  const [state] = createLimiter(text).peek('').policies;
  const lower = text.toLowerCase();
  const [, number = '1', span = 's', words = ''] =
    /^([\d_.]+)\s*\/\s*([\d.]*\s*[a-z][a-z\d]*)(.*)$/.exec(lower) ?? [];
  const limit = Number(number.replaceAll('_', ''));
  const burst = /\bburst ([\d._]+)/.exec(words)?.[1];
  return {
    algorithm: ALGORITHMS.find((name) => words.split(/\s+/).includes(name)) ?? 'gcra',
    limit,
    // A burst's window is the time in which the burst comes back, at the same rate.
    per: Math.round((state.window * limit * 1e6) / state.limit) / 1e6,
    span: span.replaceAll(' ', ''),
    burst: burst === undefined ? undefined : Number(burst),
  };
}
