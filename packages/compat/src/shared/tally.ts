/** Counts points without a limit. The call that opens a window chooses its length. */
import { type Decision, fixedWindow, type MaybePromise, type Millis, type Policy, type Store } from 'sluice';
import type { Verb } from 'sluice/store';
import { plansFor } from './plans.ts';

export interface Tally {
  readonly consumed: number;
  /** Milliseconds until the points expire. 0 if there are none, and about `EVER` if they never expire. */
  readonly left: Millis;
}

export interface Points {
  /** Adds points, and opens a window of `length` if none is open. */
  add(key: string, points: number, length: Millis): Promise<Tally>;
  /** Subtracts points, down to 0. */
  subtract(key: string, points: number): Promise<Tally>;
  /** Sets the points and opens a new window. */
  put(key: string, points: number, length: Millis): Promise<Tally>;
  read(key: string): Promise<Tally>;
  /** Clears the key and returns the points it had. */
  remove(key: string): Promise<Tally>;
}

/** A limit that no count reaches, and below which every count is exact in a float64. */
const MOST = 2 ** 52;
/** The duration that represents "forever", which is about 30,000 years. */
export const EVER: Millis = 1e15;

export function pointsIn(store: Store<MaybePromise<Decision>>, name: string): Points {
  const planOf = plansFor(name, openFor);
  /** The plan that reads rows. Any plan can read any row. */
  const reading = planOf(1);

  async function ask(verb: Verb, key: string, points: number, plan = reading): Promise<Tally> {
    const hit = { verb, plan, key, cost: points, mode: 'whole', span: 0 } as const;
    const { remaining, resetAfter } = await store.apply(hit);
    return { consumed: MOST - remaining, left: resetAfter };
  }

  return {
    add: (key, points, length) => ask(points === 0 ? 'peek' : 'take', key, points, planOf(length)),
    subtract: (key, points) => ask('refund', key, points),
    // Two hits of one plan in the same tick are sent in one batch, so on a single server no other hit is counted between them.
    async put(key, points, length) {
      const plan = planOf(length);
      const emptied = ask('reset', key, 0, plan);
      if (points === 0) return emptied;
      const [, tally] = await Promise.all([emptied, ask('take', key, points, plan)]);
      return tally;
    },
    read: (key) => ask('peek', key, 0),
    async remove(key) {
      const [tally] = await Promise.all([ask('peek', key, 0), ask('reset', key, 0)]);
      return tally;
    },
  };
}

/**
 * Creates a policy that opens a window of `length`. A row stores the time half a millisecond before its window ends, so a plan of
 * any length finds the same end. This time is usually in the future. The algorithm does not treat it as a sign of a wrong clock,
 * because it checks for wrong clocks only if `first` is not longer than `per`.
 */
function openFor(length: Millis): Policy {
  const window = fixedWindow({ limit: MOST, per: '1ms', align: 'first' });
  return { ...window, params: { ...window.params, per: 0.5, first: length } };
}
