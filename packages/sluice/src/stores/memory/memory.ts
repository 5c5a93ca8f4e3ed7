/** All rows in this process; answers come synchronously. */
import { clockOf, type GivenClock } from '../../clock.ts';
import type { Decision, Plan, Store } from '../../contract.ts';
import { bound, known } from '../../options.ts';
import type { Space } from './space.ts';
import { Spaces } from './spaces.ts';

export interface MemoryOptions {
  /** Keys kept per limiter (and as many manual blocks). When all of them are in use, a new key evicts the one closest to being fully replenished. Default: no bound. */
  readonly maxKeys?: number | undefined;
  /** Where the time comes from; default: a monotonic clock. With a clock that has no `after`, waiting uses setTimeout. */
  readonly clock?: GivenClock | undefined;
}

export interface MemoryStore extends Store<Decision> {
  /** Rows and manual blocks kept now, over all limiters. */
  readonly size: number;
}

/** The default store: everything is kept in this process, and answers come synchronously. */
export function memory(options: MemoryOptions = {}): MemoryStore {
  const { maxKeys = Infinity, clock: given } = known('memory', options, ['maxKeys', 'clock']);
  bound('memory.maxKeys', maxKeys);
  const clock = clockOf('memory.clock', given);
  let byPlan = new WeakMap<Plan, Space>();
  let lastPlan: Plan | undefined;
  let lastSpace: Space | undefined;
  let spaces = new Spaces(maxKeys, forgetPlans);

  function spaceOf(plan: Plan): Space {
    if (plan === lastPlan) return lastSpace as Space;
    const space = byPlan.get(plan) ?? spaces.of(plan, clock.now());
    byPlan.set(plan, space);
    lastPlan = plan;
    lastSpace = space;
    return space;
  }

  function forgetPlans(): void {
    byPlan = new WeakMap();
    lastPlan = undefined;
    lastSpace = undefined;
  }

  return {
    clock,
    ephemeral: true,
    apply: (hit) => spaceOf(hit.plan).apply(hit, clock.now()),
    close() {
      spaces = new Spaces(maxKeys, forgetPlans);
      forgetPlans();
    },
    get size() {
      return spaces.size;
    },
  };
}
