/** Puts a prefix before the names of all limits in a store, so that several servers can use one database without sharing limits. */
import type { Store } from 'sluice';
import type { Hit, Plan } from 'sluice/store';

export function prefixedStore(store: Store, prefix: string): Store {
  if (prefix === '') return store;
  /** Stores keep data for each plan, so a plan must always be replaced by the same object. */
  const plans = new WeakMap<Plan, Plan>();

  function planOf(plan: Plan): Plan {
    const known = plans.get(plan);
    if (known !== undefined) return known;
    const prefixed = { ...plan, name: prefix + plan.name };
    plans.set(plan, prefixed);
    return prefixed;
  }

  const hitOf = (hit: Hit): Hit => ({ ...hit, plan: planOf(hit.plan) });
  return {
    clock: store.clock,
    ephemeral: store.ephemeral,
    backend: store.backend ?? store,
    accept: (plan) => store.accept?.(planOf(plan)),
    apply: (hit) => store.apply(hitOf(hit)),
    taker: (plan) => store.taker?.(planOf(plan)),
    allTaker: (hits) => store.allTaker?.(hits.map(hitOf)),
    close: () => store.close(),
  };
}
