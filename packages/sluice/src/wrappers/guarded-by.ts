/** What stands between callers and a store on a server: `resilient` and, if it is wanted, `denyCache` around it. */
import type { Decision, Hit, Store } from '../engine/contract.ts';
import { denyCache as rememberDenials, type DenyCacheOptions } from './deny-cache.ts';
import { type Hooks, resilient, type ResilientOptions } from './resilient/resilient.ts';

export function guardedBy(
  store: Store<Promise<Decision>>,
  options: ResilientOptions,
  denyCache: boolean | DenyCacheOptions | undefined = false,
  nodeOf?: Hooks['nodeOf'],
): Store<Promise<Decision>> {
  let forget: ((hit: Hit) => void) | undefined;
  // What is given back in the background ends a denial that is remembered, too.
  const safe = resilient(store, options, { givenBack: (hit) => forget?.(hit), nodeOf });
  if (denyCache === false) return safe;
  return rememberDenials(safe, denyCache === true ? {} : denyCache, (givenBack) => {
    forget = givenBack;
  });
}
