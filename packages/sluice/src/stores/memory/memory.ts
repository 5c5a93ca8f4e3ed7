/** The memory store. All rows are in this process, and answers are synchronous. */
import { clockOf, type GivenClock } from '../../internal/clock.ts';
import { allOrNoneOf } from '../../engine/all-or-none.ts';
import type { Decision, Hit, Millis, Plan, Store } from '../../engine/contract.ts';
import { bound, checkOptionNames } from '../../internal/options.ts';
import type { Space } from './space.ts';
import { Spaces } from './spaces.ts';
import { takerOf } from './taker.ts';

/**
 * Default maximum number of keys. Without a bound, an attacker who invents keys could use up all memory. README.md says how much
 * memory a flood of keys takes with and without the bound.
 */
const MAX_KEYS = 1_000_000;

export interface MemoryOptions {
  /**
   * Maximum number of keys per limiter, and of manual blocks. When the table is full, a new key evicts a key that is close to being
   * fully replenished. Keys that are denied are evicted last. Default 1,000,000. `Infinity` removes the bound.
   */
  readonly maxKeys?: number | undefined;
  /** The clock that provides the time. Default: a monotonic clock. With a clock that has no `after`, waiting uses setTimeout. */
  readonly clock?: GivenClock | undefined;
}

export interface MemoryStore extends Store<Decision> {
  /** Current number of rows and manual blocks of all limiters. */
  readonly size: number;
  /** Number of keys that were evicted although they were not fully replenished, since the store was created or closed. */
  readonly evictions: number;
}

/** The internals that another store needs to keep a copy of this store. */
export interface Inside {
  now(): Millis;
  apply(hit: Hit, now: Millis): Decision;
  spaces(): Spaces;
  /** Drops all rows. From then on, fingerprints are computed with this seed. */
  restart(seed: Int32Array): Spaces;
}

const insides = new WeakMap<object, Inside>();

/** The internals of a store. Undefined if it was not created by `memory()`. */
export function insideOf(store: object): Inside | undefined {
  return insides.get(store);
}

/** Creates the default store, which keeps everything in this process and answers synchronously. */
export function memory(options: MemoryOptions = {}): MemoryStore {
  const { maxKeys = MAX_KEYS, clock: given } = checkOptionNames('memory', options, ['maxKeys', 'clock']);
  bound('memory.maxKeys', maxKeys);
  const clock = clockOf('memory.clock', given);
  let byPlan = new WeakMap<Plan, Space>();
  let lastPlan: Plan | undefined;
  let lastSpace: Space | undefined;
  let spaces = new Spaces(maxKeys, forgetPlans);

  function spaceOf(plan: Plan): Space {
    if (plan === lastPlan) return lastSpace as Space;
    let space = byPlan.get(plan);
    if (space === undefined) {
      space = spaces.of(plan, clock.now());
      byPlan.set(plan, space);
    }
    lastPlan = plan;
    lastSpace = space;
    return space;
  }

  function forgetPlans(): void {
    byPlan = new WeakMap();
    lastPlan = undefined;
    lastSpace = undefined;
  }

  const apply = (hit: Hit): Decision => spaceOf(hit.plan).apply(hit, clock.now());

  const store: MemoryStore = {
    clock,
    ephemeral: true,
    apply,
    taker(plan) {
      // A wrapper that copied this object and replaced `apply` must see every hit.
      return this.apply === apply ? takerOf(plan, clock, spaceOf) : undefined;
    },
    allTaker(hits) {
      if (this.apply !== apply) return undefined;
      return () => {
        const now = clock.now();
        return allOrNoneOf(hits, (hit) => spaceOf(hit.plan).apply(hit, now));
      };
    },
    close() {
      spaces.drop();
      spaces = new Spaces(maxKeys, forgetPlans);
      forgetPlans();
    },
    get size() {
      return spaces.size;
    },
    get evictions() {
      return spaces.evictions;
    },
  };
  insides.set(store, {
    now: () => clock.now(),
    apply: (hit, now) => spaceOf(hit.plan).apply(hit, now),
    spaces: () => spaces,
    restart(seed) {
      spaces.drop();
      spaces = new Spaces(maxKeys, forgetPlans, seed);
      forgetPlans();
      return spaces;
    },
  });
  return store;
}
