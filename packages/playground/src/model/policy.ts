/** A limit's text and its numbers, each made from the other. What a text means is for the library to say. */
import { createLimiter, type Millis, SluiceError } from 'sluice';
import { spanText } from './format.ts';

export const ALGORITHMS = [
  'gcra',
  'token-bucket',
  'leaky-bucket',
  'fixed-window',
  'sliding-window',
  'sliding-log',
  'pacer',
] as const;
export type AlgorithmName = (typeof ALGORITHMS)[number];

export const BURSTY: readonly AlgorithmName[] = ['gcra', 'token-bucket', 'leaky-bucket', 'pacer'];

/** One policy of a text. */
export interface Part {
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly per: Millis;
  /** The span as it was written: 'min', '10s', 'month'. */
  readonly span: string;
  readonly burst: number | undefined;
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

export function read(text: string): Reading {
  const parts: Part[] = [];
  let from = 0;
  for (const piece of text.split('&')) {
    const mistake = tried(piece, piece, from);
    if (mistake !== undefined) return { mistake };
    parts.push(partOf(piece.trim()));
    from += piece.length + 1;
  }
  const last = text.split('&').at(-1) as string;
  const together = tried(text, last, text.length - last.length);
  return together === undefined ? { parts } : { mistake: together };
}

export function write(parts: readonly Part[]): string {
  return parts
    .map(({ algorithm, limit, span, burst }) => {
      const own = algorithm === 'gcra' ? '' : ` ${algorithm}`;
      return `${limit}/${span}${own}${burst === undefined ? '' : ` burst ${burst}`}`;
    })
    .join(' & ');
}

/** Another number in a part; what no longer fits is dropped. */
export function changed(part: Part, change: Partial<Part>): Part {
  const next = { ...part, ...change };
  if (change.per !== undefined) next.span = spanText(change.per);
  if (!BURSTY.includes(next.algorithm)) next.burst = undefined;
  if (next.span === 'month' || next.span === 'year')
    next.span = next.algorithm === 'fixed-window' ? next.span : spanText(next.per);
  return next;
}

function tried(text: string, piece: string, from: number): Mistake | undefined {
  try {
    createLimiter(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return located(piece, from, hintOf(error.message));
  }
}

/** What stands in the brackets of the message, without what frames it. */
function hintOf(message: string): string {
  const inner = /\(([\s\S]*)\); got /.exec(message)?.[1] ?? message;
  return inner.replace(/ \[ERR_\w+\]$/, '');
}

function located(piece: string, from: number, why: string): Mistake {
  const lead = piece.length - piece.trimStart().length;
  const whole = { from: from + lead, to: from + Math.max(piece.trimEnd().length, lead + 1), why };
  if (piece.trim() === '') return { ...whole, why: 'a limit is missing here, such as 10/s' };
  const at = placeOf(piece, why);
  return at === undefined ? whole : { from: from + at[0], to: from + at[1], why };
}

/** The word that the hint quotes, or the number of the option that it names. */
function placeOf(piece: string, why: string): readonly [from: number, to: number] | undefined {
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

/** Of a text that the library accepts, so reading it needs no care. */
function partOf(text: string): Part {
  const lower = text.toLowerCase();
  const [, number = '1', span = 's', words = ''] =
    /^([\d_.]+)\s*\/\s*([\d.]*\s*[a-z][a-z\d]*)(.*)$/.exec(lower) ?? [];
  const limit = Number(number.replaceAll('_', ''));
  const burst = /\bburst ([\d._]+)/.exec(words)?.[1];
  const [state] = createLimiter(text).peek('').policies;
  return {
    algorithm: ALGORITHMS.find((name) => words.split(/\s+/).includes(name)) ?? 'gcra',
    limit,
    // A burst's window is the time in which the burst comes back, at the same rate.
    per: Math.round((state.window * limit * 1e6) / state.limit) / 1e6,
    span: span.replaceAll(' ', ''),
    burst: burst === undefined ? undefined : Number(burst),
  };
}
