/** Creates policies from the name of their algorithm, and remembers how each policy was created. */
import { algorithms, type Policy } from 'sluice';

export const NAMES: readonly string[] = Object.keys(algorithms);

export function isAlgorithm(name: string): boolean {
  return Object.hasOwn(algorithms, name);
}

const recipes = new WeakMap<Policy, readonly [algorithm: string, options: object]>();

/** Throws a SluiceError if the options are invalid. */
export function makePolicy(algorithm: string, options: object): Policy {
  const policy = algorithms[algorithm].factory(options as never);
  recipes.set(policy, [algorithm, options]);
  return policy;
}

/** The arguments of `makePolicy` that created this policy. Undefined for any other value. */
export function recipeOf(policy: Policy): readonly [algorithm: string, options: object] | undefined {
  return recipes.get(policy);
}
