/** Creates policies from the name of their algorithm, and remembers how each was created. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from 'sluice';

/** Factories validate their options themselves: names, ranges and combinations. */
type Factory = (options: never) => Policy;

const ALGORITHMS: Readonly<Record<string, Factory>> = {
  gcra,
  'token-bucket': tokenBucket,
  'leaky-bucket': leakyBucket,
  'fixed-window': fixedWindow,
  'sliding-window': slidingWindow,
  'sliding-log': slidingLog,
  pacer,
  concurrency,
  'min-interval': minInterval,
  penalty,
};

export const NAMES: readonly string[] = Object.keys(ALGORITHMS);

export function isAlgorithm(name: string): boolean {
  return Object.hasOwn(ALGORITHMS, name);
}

const recipes = new WeakMap<Policy, readonly [algorithm: string, options: object]>();

/** Throws a SluiceError if the options are invalid. */
export function makePolicy(algorithm: string, options: object): Policy {
  const policy = ALGORITHMS[algorithm](options as never);
  recipes.set(policy, [algorithm, options]);
  return policy;
}

/** The arguments of `makePolicy` that created this policy. Undefined for any other value. */
export function recipeOf(policy: Policy): readonly [algorithm: string, options: object] | undefined {
  return recipes.get(policy);
}
