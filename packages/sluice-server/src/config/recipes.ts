/** Policies by the name of their algorithm, which remember how they were made. */
import { algorithms, type Policy } from 'sluice';

export const NAMES: readonly string[] = Object.keys(algorithms);

export function isAlgorithm(name: string): boolean {
  return Object.hasOwn(algorithms, name);
}

const recipes = new WeakMap<Policy, readonly [algorithm: string, options: object]>();

/** Throws a SluiceError where the options are invalid. */
export function makePolicy(algorithm: string, options: object): Policy {
  const policy = algorithms[algorithm].factory(options as never);
  recipes.set(policy, [algorithm, options]);
  return policy;
}

/** How `makePolicy` made it; undefined for anything else. */
export function recipeOf(policy: Policy): readonly [algorithm: string, options: object] | undefined {
  return recipes.get(policy);
}
