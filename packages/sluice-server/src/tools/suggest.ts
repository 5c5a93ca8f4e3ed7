/** The smallest limit that lets a share of the traffic pass: a ladder of limits, all tried in one pass. */
import { UsageError } from '../store.ts';
import { type Trial, textTrial } from './policy.ts';
import type { Request } from './log-lines.ts';

export interface Suggestion {
  readonly text: string;
  /** Of the requests, from 0 to 1. */
  readonly share: number;
}

export interface Ladder {
  try(request: Request): void;
  /** Undefined: not even the largest would do. */
  best(share: number): Suggestion | undefined;
}

const POLICY = /^([\d_]+)\s*\/\s*([^&]+?)(\s+burst\s+)?(\d+)?(\s+[a-z-]+)?$/;
/** From a sixteenth of the limit to 256 times it, in steps of a fifth. */
const STEPS = Array.from({ length: 49 }, (_, i) => 2 ** (i / 4 - 4));

export function ladderOf(text: string): Ladder {
  const parts = POLICY.exec(text.trim());
  if (parts === null || text.includes('&'))
    throw new UsageError('--suggest wants a single policy, such as 10/s burst 20');
  const [, limit = '', per = '', burst, size, rest = ''] = parts;
  const scaled = (number: string, by: number) =>
    Math.max(1, Math.round(Number(number.replaceAll('_', '')) * by));
  const texts = STEPS.map((by) => {
    const most = burst === undefined ? '' : ` burst ${scaled(size ?? '1', by)}`;
    return `${scaled(limit, by)}/${per}${most}${rest}`;
  });
  const rungs = [...new Set(texts)].map((one) => ({ trial: textTrial(one), allowed: 0 }));
  let total = 0;
  return {
    try({ at, key, cost }) {
      total++;
      for (const rung of rungs) if (passes(rung.trial, key, cost, at)) rung.allowed++;
    },
    best(share) {
      const rung = rungs.find(({ allowed }) => allowed >= total * share);
      return rung && { text: rung.trial.text, share: rung.allowed / Math.max(1, total) };
    },
  };
}

function passes(trial: Trial, key: string, cost: number, at: number): boolean {
  return trial.take(key, cost, at).allowed;
}
