/** Converts a limit's text to numbers and back. The library itself parses the text. */
import { createLimiter, type Millis, type Policies, type Policy, SluiceError } from 'sluice';
import { type AlgorithmName, ALGORITHMS, BURSTY, UNRATED } from './algorithms.ts';
import { durationText } from './format.ts';
import { type Options, policyOf, readOptions, Unreadable, writeOptions } from './options-text.ts';

/** One policy of a limit's text. */
export interface Part {
  readonly algorithm: AlgorithmName;
  /** The number of requests per duration. Infinity for policies that do not limit a rate. */
  readonly limit: number;
  readonly per: Millis;
  /** The duration as it was written, such as 'min', '10s' or 'month'. */
  readonly span: string;
  readonly burst: number | undefined;
  /** The options, if the policy was written with options instead of a rate. */
  readonly options?: Options | undefined;
}

/** The invalid range of a text, in characters, and the reason. */
export interface Mistake {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

export type Reading =
  | { readonly parts: readonly Part[]; readonly mistake?: undefined }
  | { readonly mistake: Mistake };

/**
 * The argument for createLimiter. It is the text itself if the library can parse it, and otherwise the policies, named by their
 * texts.
 */
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

/** Changes a part, and drops options that the changed part does not support. */
export function changed(part: Part, change: Partial<Part>): Part {
  const next = { ...part, ...change };
  if (change.algorithm !== undefined) {
    if (next.limit === Infinity) next.limit = 10;
    next.options = UNRATED.includes(next.algorithm) ? optionsFor(next) : undefined;
  }
  if (change.per !== undefined) next.span = durationText(change.per);
  if (!BURSTY.includes(next.algorithm)) next.burst = undefined;
  if (next.span === 'month' || next.span === 'year')
    next.span = next.algorithm === 'fixed-window' ? next.span : durationText(next.per);
  return next;
}

/** Default options that are about as strict as the previous rate. */
function optionsFor({ algorithm, limit, per }: Part): Options {
  const round = (span: Millis) => durationText(Math.max(1, Math.round(span)));
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

/** The hint in parentheses within the error message. */
function hintOf(message: string): string {
  if (message.includes('denies by itself')) return 'must be combined with another limit, such as 10/s &';
  const inner = / \(([\s\S]*)\); got /.exec(message)?.[1] ?? message;
  return inner.replace(/ \[ERR_\w+\]$/, '');
}

function located(piece: string, from: number, error: SluiceError | Unreadable): Mistake {
  const why = hintOf(error.message);
  const lead = piece.length - piece.trimStart().length;
  const whole = { from: from + lead, to: from + Math.max(piece.trimEnd().length, lead + 1), why };
  if (piece.trim() === '') return { ...whole, why: 'missing limit, such as 10/s' };
  const at = piece.includes('{') ? placeInOptions(piece, error) : placeOf(piece, why);
  return at === undefined ? whole : { from: from + at[0], to: from + at[1], why };
}

type Place = readonly [from: number, to: number];

/** Finds the word that the hint quotes, or the value of the option that the hint names. */
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

/** Finds the words that cause the error, or the option that the error names, including its value. */
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

/** Parses one policy. Throws if the library rejects the text, so the rest of the parsing can be lenient. */
function partOf(text: string): Part {
  const own = readOptions(text);
  if (own !== undefined) {
    const { limit, window: per } = policyOf(own.algorithm, own.options);
    return { ...own, limit, per, span: durationText(per), burst: undefined };
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
    // The window of a burst is the time in which the whole burst is replenished, so `state.window` is converted to the window of
    // the limit.
    per: Math.round((state.window * limit * 1e6) / state.limit) / 1e6,
    span: span.replaceAll(' ', ''),
    burst: burst === undefined ? undefined : Number(burst),
  };
}
