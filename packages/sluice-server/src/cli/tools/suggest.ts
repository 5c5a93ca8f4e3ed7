/**
 * Finds the smallest limit that allows a given fraction of the traffic. The first pass over the traffic tries widely spaced
 * limits. Each further pass tries limits between the largest limit that allowed too little and the smallest limit that allowed
 * enough.
 */
import { UsageError } from '../../config/usage-error.ts';
import type { Request } from './log-lines.ts';
import { textTrial } from './policy.ts';

export interface Suggestion {
  readonly text: string;
  /** Fraction of the requests that this limit allows, from 0 to 1. */
  readonly share: number;
}

export interface Ladder {
  try(request: Request): void;
  /**
   * Returns the smallest limit that allows at least the fraction `share` of the requests. Undefined if even the largest limit
   * allows less.
   */
  best(share: number): Suggestion | undefined;
  /**
   * Returns a ladder with smaller steps, for another pass over the same traffic. Undefined if the result is already precise
   * enough.
   */
  finer(share: number): Ladder | undefined;
}

const POLICY = /^([\d_]+)\s*\/\s*([^&]+?)(\s+burst\s+)?(\d+)?(\s+[a-z-]+)?$/;
/** Exponents of two. Limits from a sixteenth of the given limit to 256 times that limit are tried. */
const [LEAST, MOST] = [-4, 8];
const RUNGS = 15;
/** The search stops when two neighboring limits differ by less than this fraction. */
const CLOSE = 0.01;

/** The limits to try in one pass. `steps` is the number of limits from one power of two to the next. */
export function ladderOf(text: string, steps: number): Ladder {
  const scaled = scaling(text);
  const count = (MOST - LEAST) * steps + 1;
  const limits = Array.from({ length: count }, (_, i) => scaled.limit * 2 ** (LEAST + i / steps));
  return ladder(scaled, limits, 0, undefined);
}

interface Scaling {
  readonly limit: number;
  /** The policy text with a different limit, and with its burst scaled by the same factor. */
  text(limit: number): string;
}

function scaling(text: string): Scaling {
  const parts = POLICY.exec(text.trim());
  if (parts === null)
    throw new UsageError(`--suggest needs a single policy, such as 10/s burst 20; got ${text}`);
  const [, number = '', per = '', burst, size = '1', rest = ''] = parts;
  const limit = Number(number.replaceAll('_', ''));
  return {
    limit,
    text(other) {
      const most = Math.max(1, Math.round((Number(size) * other) / limit));
      return `${other}/${per}${burst === undefined ? '' : ` burst ${most}`}${rest}`;
    },
  };
}

interface Known extends Suggestion {
  readonly limit: number;
}

/** The limit `below` is known to allow too little; the limit `above`, if given, is known to allow enough. */
function ladder(scaled: Scaling, limits: readonly number[], below: number, above: Known | undefined): Ladder {
  const whole = new Set(limits.map((limit) => Math.max(1, Math.round(limit))));
  const rungs = [...whole].map((limit) => ({ limit, trial: textTrial(scaled.text(limit)), allowed: 0 }));
  let total = 0;

  /** The smallest limit that allows enough, and the next smaller limit. */
  function found(share: number): [before: number, good: Known | undefined] {
    const index = rungs.findIndex(({ allowed }) => allowed >= total * share);
    if (index < 0) return [rungs.at(-1)?.limit ?? below, above];
    const { limit, trial, allowed } = rungs[index];
    return [
      rungs[index - 1]?.limit ?? below,
      { limit, text: trial.text, share: allowed / Math.max(1, total) },
    ];
  }

  return {
    try({ at, key, cost }) {
      total++;
      for (const rung of rungs) if (rung.trial.take(key, cost, at).allowed) rung.allowed++;
    },
    best: (share) => found(share)[1],
    finer(share) {
      const [before, good] = found(share);
      if (good === undefined || good.limit - before <= Math.max(1, good.limit * CLOSE)) return undefined;
      const step = (good.limit - before) / (RUNGS + 1);
      const between = Array.from({ length: RUNGS }, (_, i) => Math.round(before + step * (i + 1)));
      const inside = between.filter((limit) => limit > before && limit < good.limit);
      return ladder(scaled, inside, before, good);
    },
  };
}
