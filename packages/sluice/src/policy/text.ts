/**
 * Parses policies that are written as text, such as '100/min', '10/s burst 20', '5000/day fixed-window' or
 * '100/min & 5000/day sliding-log'.
 *
 *   policies = policy { '&' policy }
 *   policy   = limit '/' duration { 'burst' number | algorithm }
 */
import { ratedAlgorithms as ALGORITHMS } from '../algorithms/registry.ts';
import type { Policy } from '../engine/contract.ts';
import { millisIn } from '../internal/duration.ts';
import { SluiceError } from '../internal/errors.ts';

const POLICY = /^([\d_]+(?:\.\d+)?)\s*\/\s*([\d.]*\s*[a-z]+(?:\d+[a-z]+)*)(?:\s+(.*))?$/;

/**
 * Parses a text and returns its policies by name. A policy's name is its own text, except that a single policy is named 'default'.
 */
export function parsePolicies(text: string): Record<string, Policy> {
  const parts = text.split('&').map((part) => part.trim().replace(/\s+/g, ' '));
  const named: Record<string, Policy> = {};
  for (const part of parts) {
    const name = parts.length === 1 ? 'default' : part;
    if (Object.hasOwn(named, name))
      throw new SluiceError('ERR_POLICY_TEXT', 'policy', text, `${name} is given twice`);
    named[name] = parsePolicy(part, text);
  }
  return named;
}

function parsePolicy(part: string, text: string): Policy {
  const match = POLICY.exec(part.toLowerCase());
  const wrong = (hint: string) =>
    new SluiceError('ERR_POLICY_TEXT', 'policy', text, hint.length > 300 ? `${hint.slice(0, 300)}…` : hint);
  if (match === null) throw wrong(`cannot parse ${JSON.stringify(part)}`);
  const [, limit = '', per = '', rest = ''] = match;
  let algorithm = 'gcra';
  let burst: number | undefined;
  const words = rest.split(' ').filter((word) => word !== '');
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === 'burst') burst = Number(words[++i]);
    else if (Object.hasOwn(ALGORITHMS, word)) algorithm = word;
    else
      throw wrong(
        `unknown word ${JSON.stringify(word)}; the algorithms are ${Object.keys(ALGORITHMS).join(', ')}`,
      );
  }
  const { text: form } = ALGORITHMS[algorithm];
  if (burst !== undefined && !form.burst) throw wrong(`${algorithm} has no burst`);
  const millis = millisIn(per);
  if (!(millis > 0) && !form.calendarUnits?.includes(per))
    throw wrong(`unknown duration ${JSON.stringify(per)}`);
  try {
    return form.policy({ limit: Number(limit.replaceAll('_', '')), per, millis, burst });
  } catch (error) {
    throw error instanceof SluiceError ? wrong(error.message) : error;
  }
}
