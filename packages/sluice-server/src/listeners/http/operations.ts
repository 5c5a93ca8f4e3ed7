/** Validates the operations that a request body contains. */
import type { Duration, Mode } from 'sluice';
import { HttpProblem } from './reply.ts';

export type Verb = 'take' | 'peek' | 'refund' | 'reset' | 'block';

export interface Operation {
  readonly limit: string;
  readonly key: string;
  readonly cost: number;
  readonly tier: string | undefined;
  readonly mode: Mode | undefined;
  readonly duration: Duration | undefined;
}

/**
 * The maximum cost, the same as in the library. It is checked here because keys with the override `unlimited` never reach the
 * library.
 */
const MAX_COST = 2 ** 53;

/** Members that each verb accepts. */
const MEMBERS: Readonly<Record<Verb, readonly string[]>> = {
  take: ['limit', 'key', 'cost', 'tier', 'mode'],
  peek: ['limit', 'key', 'cost', 'tier'],
  refund: ['limit', 'key', 'cost', 'tier'],
  reset: ['limit', 'key'],
  block: ['limit', 'key', 'duration'],
};

export function readOperation(verb: Verb, value: unknown, maxKey: number): Operation {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new HttpProblem('bad-request', 'the body must be an object or an array of objects');
  const known = MEMBERS[verb];
  for (const name of Object.keys(value)) {
    if (!known.includes(name))
      throw new HttpProblem(
        'bad-request',
        `unknown name ${shown(name)} in ${verb}; must be one of ${known.join(', ')}`,
      );
  }
  const { limit, key, cost = 1, tier, mode, duration } = value as Record<string, unknown>;
  if (typeof limit !== 'string')
    throw new HttpProblem('bad-request', `limit must be a string, the name of a limit; got ${shown(limit)}`);
  checkKey(key, maxKey);
  if (typeof cost !== 'number' || !(cost >= 0) || cost === Infinity)
    throw new HttpProblem('bad-request', `cost must be a finite number, 0 or more; got ${shown(cost)}`);
  if (cost > MAX_COST)
    throw new HttpProblem('bad-request', `cost must be at most 2^53 (${MAX_COST}); got ${shown(cost)}`);
  if (tier !== undefined && typeof tier !== 'string')
    throw new HttpProblem('bad-request', `tier must be a string; got ${shown(tier)}`);
  if (mode !== undefined && mode !== 'whole' && mode !== 'partial' && mode !== 'always')
    throw new HttpProblem('bad-request', `mode must be whole, partial or always; got ${shown(mode)}`);
  if (verb === 'block' && typeof duration !== 'string' && typeof duration !== 'number')
    throw new HttpProblem(
      'bad-request',
      `duration must be a number of milliseconds or a string such as '10m'; got ${shown(duration)}`,
    );
  return { limit, key, cost, tier, mode, duration: duration as Duration | undefined };
}

function checkKey(key: unknown, maxKey: number): asserts key is string {
  if (typeof key !== 'string')
    throw new HttpProblem('bad-request', `key must be a string; got ${shown(key)}`);
  // Most keys need no exact count, because UTF-8 needs at most three bytes per UTF-16 code unit.
  if (key.length * 3 > maxKey && Buffer.byteLength(key) > maxKey)
    throw new HttpProblem('bad-request', `key must have at most ${maxKey} bytes`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
