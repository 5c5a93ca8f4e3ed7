/** Lets code that has only a limiter ask for the names of its policies. */

/**
 * The key of a limiter's function that says whether a cost may name a policy. Without a key, the function returns undefined if
 * the answer depends on the key. Copies of a limiter keep the function, and limiters that are not made by Sluice have none.
 */
export const HAS_POLICY: unique symbol = Symbol.for('sluice.has-policy');

/** A limiter that may know the names of its policies. */
export interface Named {
  readonly [HAS_POLICY]?: (name: string, key?: string, tier?: string) => boolean | undefined;
}
