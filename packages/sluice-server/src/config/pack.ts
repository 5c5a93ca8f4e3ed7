/**
 * Configurations on their way between threads. A policy holds functions, which cannot be sent, so the call that makes it is
 * sent in its place. Everything else in a configuration is plain data.
 */
import type { Policy } from 'sluice';
import { makePolicy, recipeOf } from './recipes.ts';

/** A policy is sent as a Set with this one member. No configuration contains a Set otherwise. */
type Recipe = readonly [algorithm: string, options: object];

/** What `postMessage` can send, and `unpacked` turns into an equal value. */
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
  // Defines properties and does not assign them: a tier may be called __proto__.
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, convert(member)]));
}
