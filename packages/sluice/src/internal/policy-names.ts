/** Lets code that has only a limiter ask for the names of its policies. */

/**
 * The symbol under which a limiter has a function that says whether a cost may name a policy. If the function is called without a
 * key, and the answer depends on the key, it returns undefined. Copies of a limiter keep the function. Limiters that were not
 * created by Sluice do not have it.
 */
export const HAS_POLICY: unique symbol = Symbol.for('sluice.has-policy');

/** A limiter that may know the names of its policies. */
export interface Named {
  readonly [HAS_POLICY]?: (name: string, key?: string, tier?: string) => boolean | undefined;
}
