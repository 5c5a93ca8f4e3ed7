/** A store that answers asynchronously and records the hits that reach it. */
import { createLimiter, type Decision, memory, type Policies, type Store } from '../../../src/index.ts';
import type { Plan } from '../../../src/store.ts';
import { type ManualClock, manualClock } from '../../../src/testing/index.ts';

export interface Asked {
  readonly clock: ManualClock;
  /** The hits, as text. */
  readonly asked: string[];
  readonly store: Store<Promise<Decision>>;
}

export function askedStore(): Asked {
  const clock = manualClock(1_700_000_000_000);
  const asked: string[] = [];
  const inner = memory({ clock });
  const store: Asked['store'] = {
    clock,
    async apply(hit) {
      asked.push(`${hit.verb} ${hit.mode === 'whole' ? '' : `${hit.mode} `}${String(hit.cost)}`);
      return inner.apply(hit);
    },
    close: () => inner.close(),
  };
  return { clock, asked, store };
}

/** Waits until pending promises have settled. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

/** Returns the plan that a limiter sends with its hits. */
export function planSent(policies: Policies, name?: string): Plan {
  let plan: Plan | undefined;
  const inner = memory();
  const store: typeof inner = {
    ...inner,
    apply(hit) {
      plan = hit.plan;
      return inner.apply(hit);
    },
  };
  createLimiter(policies, { store, name }).peek('key');
  return plan as Plan;
}
