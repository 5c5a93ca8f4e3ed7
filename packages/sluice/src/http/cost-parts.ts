/**
 * Splits a cost such as `{ requests: 1, tokens: 4200 }` among a guard's limiters, so that one object can name policies of all these
 * limiters.
 */
import { HAS_POLICY, type Named } from '../internal/policy-names.ts';
import type { ByPolicy } from '../limiter/api.ts';

/** A limiter, and the key and tier that a request charges. */
interface Charged {
  readonly limiter: object;
  readonly key: string;
  readonly tier: string | undefined;
}

/**
 * The part of a cost that one of several limiters is charged. Names of policies that only other limiters have are left out. Names
 * that no limiter has are kept, so that the limiter rejects them.
 */
export function costPart<C extends ByPolicy | undefined>(
  limiters: readonly object[],
  { limiter, key, tier }: Charged,
  cost: C,
): C {
  if (typeof cost !== 'object' || cost === null || limiters.length === 1) return cost;
  const isKept = (name: string): boolean =>
    (limiter as Named)[HAS_POLICY]?.(name, key, tier) !== false || !mayBePolicy(limiters, name);
  return Object.fromEntries(Object.entries(cost).filter(([name]) => isKept(name))) as C;
}

/** False if none of the limiters has a policy of this name. */
export function mayBePolicy(limiters: readonly object[], name: string): boolean {
  return limiters.some((limiter) => (limiter as Named)[HAS_POLICY]?.(name) !== false);
}

/**
 * Returns a function that takes a callback, calls it with these arguments and returns its result. If the same callback is passed
 * again, it is not called again, and its first result is returned.
 */
export function onceEach<A extends readonly unknown[]>(...args: A): <T>(call: (...args: A) => T) => T {
  const results = new Map<unknown, unknown>();
  return <T>(call: (...args: A) => T): T => {
    if (!results.has(call)) results.set(call, call(...args));
    return results.get(call) as T;
  };
}
