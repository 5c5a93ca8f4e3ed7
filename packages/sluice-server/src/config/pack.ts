/**
 * Serializes configurations for transfer between threads. A policy contains functions, which cannot be sent, so the call
 * that creates it is sent instead. Everything else in a configuration is plain data.
 */
import type { Policy } from 'sluice';
import { makePolicy, recipeOf } from './recipes.ts';

/**
 * The call that creates a policy. A policy is sent as a Set whose only member is this call; configurations contain no other Sets.
 */
type Recipe = readonly [algorithm: string, options: object];

/** Returns a value that `postMessage` can send and `unpacked` turns back into an equal configuration. */
export function packed(value: unknown): unknown {
  const recipe = recipeOf(value as Policy);
  return recipe === undefined ? mapped(value, packed) : new Set([recipe]);
}

export function unpacked(value: unknown): unknown {
  if (!(value instanceof Set)) return mapped(value, unpacked);
  const [[algorithm, options]] = value as Set<Recipe>;
  return makePolicy(algorithm, options);
}

/** Applies `convert` to the members of a list, a map or an object. */
function mapped(value: unknown, convert: (member: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(convert);
  if (value instanceof Map) return new Map([...value].map(([key, member]) => [key, convert(member)]));
  // Object.fromEntries defines properties instead of assigning them, which is safe for a tier named __proto__.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, convert(member)]));
}
