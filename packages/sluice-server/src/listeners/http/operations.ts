/** Validates the operations that a request body contains. */
import type { CostOptions, Duration, Mode } from 'sluice';
import { HttpProblem } from './reply.ts';

export type Verb = 'take' | 'peek' | 'refund' | 'settle' | 'reset' | 'block';

type ByPolicy = CostOptions['cost'];

export interface Operation {
  readonly limit: string;
  readonly key: string;
  readonly cost: ByPolicy;
  readonly charged: ByPolicy;
  readonly used: ByPolicy;
  readonly keep: ByPolicy;
  readonly class: string | undefined;
  readonly at: number | undefined;
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
  take: ['limit', 'key', 'cost', 'tier', 'mode', 'keep', 'class'],
  peek: ['limit', 'key', 'cost', 'tier', 'keep', 'class'],
  refund: ['limit', 'key', 'cost', 'tier', 'at'],
  settle: ['limit', 'key', 'charged', 'used', 'tier', 'at'],
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
  const given = value as Record<string, unknown>;
  const { limit, key, cost = 1, tier, mode, duration, keep, class: name, charged, used, at } = given;
  if (typeof limit !== 'string')
    throw new HttpProblem('bad-request', `limit must be a string, the name of a limit; got ${shown(limit)}`);
  checkKey(key, maxKey);
  checkUnits('cost', cost);
  if (verb === 'settle') {
    checkUnits('charged', charged);
    checkUnits('used', used);
  }
  if (keep !== undefined && !isByPolicy(keep))
    throw new HttpProblem('bad-request', `keep must be a number, or numbers by policy; got ${shown(keep)}`);
  if (name !== undefined && typeof name !== 'string')
    throw new HttpProblem('bad-request', `class must be a string; got ${shown(name)}`);
  if (at !== undefined && typeof at !== 'number')
    throw new HttpProblem('bad-request', `at must be a number, the \`at\` of a decision; got ${shown(at)}`);
  if (tier !== undefined && typeof tier !== 'string')
    throw new HttpProblem('bad-request', `tier must be a string; got ${shown(tier)}`);
  if (mode !== undefined && mode !== 'whole' && mode !== 'partial' && mode !== 'always')
    throw new HttpProblem('bad-request', `mode must be whole, partial or always; got ${shown(mode)}`);
  if (verb === 'block' && typeof duration !== 'string' && typeof duration !== 'number')
    throw new HttpProblem(
      'bad-request',
      `duration must be a number of milliseconds or a string such as '10m'; got ${shown(duration)}`,
    );
  return {
    limit,
    key,
    cost,
    charged: charged as ByPolicy,
    used: used as ByPolicy,
    keep,
    class: name,
    at,
    tier,
    mode,
    duration: duration as Duration | undefined,
  };
}

/** Validates a number of units, or numbers of units by the names of policies. The library checks the names. */
function checkUnits(member: string, value: unknown): asserts value is NonNullable<ByPolicy> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    for (const [name, units] of Object.entries(value)) checkNumber(`${member}.${name}`, units);
  } else checkNumber(member, value);
}

function checkNumber(member: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0) || value === Infinity)
    throw new HttpProblem(
      'bad-request',
      `${member.slice(0, 100)} must be a finite number, 0 or more; got ${shown(value)}`,
    );
  if (value > MAX_COST)
    throw new HttpProblem(
      'bad-request',
      `${member.slice(0, 100)} must be at most 2^53 (${MAX_COST}); got ${shown(value)}`,
    );
}

/** Whether the value is a number, or an object whose members are numbers. */
function isByPolicy(value: unknown): value is NonNullable<ByPolicy> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return typeof value === 'number';
  return Object.values(value).every((part) => typeof part === 'number');
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
