/**
 * Hashes a configuration, so that servers with different limits can be found. The hash does not depend on comments, on how the
 * limits are split into files, or on the order of limits, tiers and options. The order of patterns matters, because the first match
 * applies.
 */
import { createHash } from 'node:crypto';
import type { Policy } from 'sluice';
import type { Config } from './model.ts';
import { recipeOf } from './recipes.ts';

/** Servers with the same limits have the same hash. */
export function hashOf({ limits, domains }: Config): string {
  const text = JSON.stringify([stable(limits), stable(domains)]);
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** Returns a value without functions, in which the members of maps and objects are lists in alphabetical order. */
function stable(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(stable);
  const recipe = recipeOf(value as Policy);
  if (recipe !== undefined) return stable(recipe);
  const members: [string, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
  return members
    .filter(([name, member]) => member !== undefined && !isText(name, value))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, member]) => [name, stable(member)]);
}

/** Whether the member is the text of a limit's policies, which are hashed in their parsed form. */
function isText(name: string, owner: object): boolean {
  return name === 'text' && 'policies' in owner && 'mode' in owner;
}
