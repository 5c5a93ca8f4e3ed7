/** Lets code that has only a limiter ask for the names of its policies. */

/**
 * The symbol of a limiter's function that says whether the limiter has a policy of a given name, so that a cost may use this name.
 * If the function is called without a key, and the answer depends on the key, it returns undefined. Copies of a limiter keep the
 * function. Limiters that were not created by Sluice do not have it.
 */
export const HAS_POLICY: unique symbol = Symbol.for('sluice.has-policy');

/** A limiter that may know the names of its policies. */
export interface Named {
  readonly [HAS_POLICY]?: (name: string, key?: string, tier?: string) => boolean | undefined;
}
