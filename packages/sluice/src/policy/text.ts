/**
 * Policies as people say them: '100/min', '10/s burst 20', '5000/day fixed-window', '100/min & 5000/day sliding-log'.
 *
 *   policies = policy { '&' policy }
 *   policy   = limit '/' duration { 'burst' number | algorithm }
 */
import {
  fixedWindow,
  gcra,
  leakyBucket,
  pacer,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../algorithms/index.ts';
import type { Policy } from '../engine/contract.ts';
import { parse } from '../internal/duration.ts';
import { SluiceError } from '../internal/errors.ts';

interface Rate {
  readonly limit: number;
  readonly per: string;
  readonly burst: number | undefined;
}

const CALENDAR = ['month', 'year'] as const;

/** What a name means in text. Only these have a rate and nothing else; the others want their factory. */
const ALGORITHMS: Readonly<Record<string, (rate: Rate) => Policy>> = {
  gcra: ({ limit, per, burst }) => gcra({ limit, per, burst }),
  'token-bucket': ({ limit, per, burst }) =>
    tokenBucket({ capacity: burst ?? Math.max(1, limit), refill: limit, every: per }),
  'leaky-bucket': ({ limit, per, burst }) =>
    leakyBucket({ size: burst ?? Math.max(1, limit), dripRate: parse(per) / limit }),
  'fixed-window': ({ limit, per }) => {
    const unit = CALENDAR.find((name) => name === per);
    return fixedWindow(unit === undefined ? { limit, per } : { limit, align: unit });
  },
  'sliding-window': ({ limit, per }) => slidingWindow({ limit, per }),
  'sliding-log': ({ limit, per }) => slidingLog({ limit, per }),
  pacer: ({ limit, per, burst }) => pacer({ limit, per, maxBurst: burst }),
};

const BURSTY = ['gcra', 'token-bucket', 'leaky-bucket', 'pacer'];

const POLICY = /^([\d_]+(?:\.\d+)?)\s*\/\s*([\d.]*\s*[a-z]+(?:\d+[a-z]+)*)(?:\s+(.*))?$/;

/** The policies of a text by their names: each one's own text, or 'default' when it stands alone. */
export function parsePolicies(text: string): Record<string, Policy> {
  const parts = text.split('&').map((part) => part.trim().replace(/\s+/g, ' '));
  const named: Record<string, Policy> = {};
  for (const part of parts) {
    const name = parts.length === 1 ? 'default' : part;
    if (Object.hasOwn(named, name))
      throw new SluiceError('ERR_POLICY_TEXT', 'policy', text, `${name} stands twice`);
    named[name] = parsePolicy(part, text);
  }
  return named;
}

function parsePolicy(part: string, text: string): Policy {
  const match = POLICY.exec(part.toLowerCase());
  const wrong = (hint: string) =>
    new SluiceError('ERR_POLICY_TEXT', 'policy', text, hint.length > 300 ? `${hint.slice(0, 300)}…` : hint);
  if (match === null) throw wrong(`cannot read ${JSON.stringify(part)}`);
  const [, limit = '', per = '', rest = ''] = match;
  let algorithm = 'gcra';
  let burst: number | undefined;
  const words = rest.split(' ').filter((word) => word !== '');
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === 'burst') burst = Number(words[++i]);
    else if (Object.hasOwn(ALGORITHMS, word)) algorithm = word;
    else
      throw wrong(`unknown word ${JSON.stringify(word)}; algorithms: ${Object.keys(ALGORITHMS).join(', ')}`);
  }
  if (burst !== undefined && !BURSTY.includes(algorithm)) throw wrong(`${algorithm} has no burst`);
  const calendar = algorithm === 'fixed-window' && CALENDAR.some((unit) => unit === per);
  if (!calendar && !(parse(per) > 0)) throw wrong(`unknown span ${JSON.stringify(per)}`);
  try {
    return ALGORITHMS[algorithm]({
      limit: Number(limit.replaceAll('_', '')),
      per,
      burst,
    });
  } catch (error) {
    throw error instanceof SluiceError ? wrong(error.message) : error;
  }
}
