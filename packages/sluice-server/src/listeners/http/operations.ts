/** Validates the operations that a request body contains. */
import type { CostOptions, Duration, Mode } from 'sluice';
import type { LimitRef } from '../../core/core.ts';
import { HttpProblem } from './reply.ts';

/** The verbs with a route of their own, /v1/<verb>. */
export const V1_VERBS = [
  'take',
  'peek',
  'reserve',
  'refund',
  'settle',
  'release',
  'block',
  'unblock',
  'reset',
] as const;

export type Verb = (typeof V1_VERBS)[number];

type ByPolicy = CostOptions['cost'];

export interface Operation {
  readonly limit: LimitRef;
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
  readonly maxDelay: Duration | undefined;
}

/**
 * The maximum cost, the same as in the library. It is checked here because keys with the override `unlimited` never reach the
 * library.
 */
const MAX_COST = 2 ** 53;

/** Members that each verb accepts. `policies` replaces `limit` in a request that contains its own policies. */
const MEMBERS: Readonly<Record<Verb | 'item', readonly string[]>> = {
  take: ['limit', 'policies', 'key', 'cost', 'tier', 'mode', 'keep', 'class'],
  peek: ['limit', 'policies', 'key', 'cost', 'tier', 'keep', 'class'],
  reserve: ['limit', 'policies', 'key', 'cost', 'tier', 'keep', 'class', 'maxDelay'],
  refund: ['limit', 'policies', 'key', 'cost', 'tier', 'at'],
  settle: ['limit', 'policies', 'key', 'charged', 'used', 'tier', 'at'],
  release: ['limit', 'policies', 'key', 'cost', 'tier', 'at'],
  block: ['limit', 'key', 'duration'],
  unblock: ['limit', 'key'],
  reset: ['limit', 'key'],
  item: ['limit', 'policies', 'key', 'cost', 'tier', 'keep', 'class'],
};

/** Validates an operation. 'item' is an item of /v1/take-many. */
export function readOperation(verb: Verb | 'item', value: unknown, maxKey: number): Operation {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new HttpProblem(
      'bad-request',
      verb === 'item' ? 'an item must be an object' : 'the body must be an object or an array of objects',
    );
  const known = MEMBERS[verb];
  for (const name of Object.keys(value)) {
    if (!known.includes(name))
      throw new HttpProblem(
        'bad-request',
        `unknown name ${shown(name)} in ${verb === 'item' ? 'an item' : verb}; must be one of ${known.join(', ')}`,
      );
  }
  const given = value as Record<string, unknown>;
  const { key, cost = 1, tier, mode, duration, keep, class: name, charged, used, at, maxDelay } = given;
  const limit = readLimit(given);
  checkKey(key, maxKey);
  checkUnits('cost', cost);
  if (verb === 'settle') {
    checkUnits('charged', charged);
    checkUnits('used', used);
  }
  if (keep !== undefined && !isByPolicy(keep))
    throw new HttpProblem(
      'bad-request',
      `keep must be a number, or an object with a number for each policy; got ${shown(keep)}`,
    );
  if (name !== undefined && typeof name !== 'string')
    throw new HttpProblem('bad-request', `class must be a string; got ${shown(name)}`);
  if (at !== undefined && typeof at !== 'number')
    throw new HttpProblem('bad-request', `at must be a number, the \`at\` of a decision; got ${shown(at)}`);
  if (tier !== undefined && typeof tier !== 'string')
    throw new HttpProblem('bad-request', `tier must be a string; got ${shown(tier)}`);
  if (mode !== undefined && mode !== 'whole' && mode !== 'partial' && mode !== 'always')
    throw new HttpProblem('bad-request', `mode must be whole, partial or always; got ${shown(mode)}`);
  if (verb === 'block') checkDuration('duration', duration);
  if (maxDelay !== undefined) checkDuration('maxDelay', maxDelay);
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
    maxDelay: maxDelay as Duration | undefined,
  };
}

function readLimit({ limit, policies }: Record<string, unknown>): LimitRef {
  if (policies === undefined) {
    if (typeof limit === 'string') return limit;
    throw new HttpProblem('bad-request', `limit must be a string, the name of a limit; got ${shown(limit)}`);
  }
  if (limit !== undefined)
    throw new HttpProblem('bad-request', 'limit and policies must not be given together');
  if (typeof policies !== 'string')
    throw new HttpProblem(
      'bad-request',
      `policies must be a string such as '10/s burst 20'; got ${shown(policies)}`,
    );
  return { policies };
}

function checkDuration(member: string, value: unknown): void {
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new HttpProblem(
      'bad-request',
      `${member} must be a number of milliseconds or a string such as '10m'; got ${shown(value)}`,
    );
}

/** Validates a number of units, or an object with a number of units for each policy name. The library checks the names. */
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
  // An empty key is usually a variable that was not set, and all such clients would share one limit.
  if (key === '') throw new HttpProblem('bad-request', 'key must not be empty');
  // Most keys need no exact count, because UTF-8 needs at most three bytes per UTF-16 code unit.
  if (key.length * 3 > maxKey && Buffer.byteLength(key) > maxKey)
    throw new HttpProblem('bad-request', `key must have at most ${maxKey} bytes`);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
