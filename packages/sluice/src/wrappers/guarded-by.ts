/** Wraps a networked store in `resilient` and, if enabled, wraps the result in `denyCache`. */
import type { Decision, Hit, Store } from '../engine/contract.ts';
import { denyCache as rememberDenials, type DenyCacheOptions } from './deny-cache.ts';
import { type Hooks, resilient, type ResilientOptions } from './resilient/resilient.ts';

export function guardedBy(
  store: Store<Promise<Decision>>,
  options: ResilientOptions,
  denyCache: boolean | DenyCacheOptions | undefined = false,
  hooks: Pick<Hooks, 'nodeOf' | 'hasRequestTimers'> = {},
): Store<Promise<Decision>> {
  let forget: ((hit: Hit) => void) | undefined;
  // Units or places that are given back in the background also end a cached denial.
  const safe = resilient(store, options, { ...hooks, givenBack: (hit) => forget?.(hit) });
  if (denyCache === false) return safe;
  return rememberDenials(safe, denyCache === true ? {} : denyCache, (givenBack) => {
    forget = givenBack;
  });
}
