/** Points of a key without a limit, in a window that each call opens for as long as it likes. */
import { type Decision, fixedWindow, type MaybePromise, type Millis, type Policy, type Store } from 'sluice';
import type { Verb } from 'sluice/store';
import { plansFor } from './plans.ts';

export interface Tally {
  readonly consumed: number;
  /** Until they are forgotten; 0 when there are none, about `EVER`: never. */
  readonly left: Millis;
}

export interface Points {
  /** Adds points, and opens a window of `length` if none is open. */
  add(key: string, points: number, length: Millis): Promise<Tally>;
  /** Takes points off, down to 0. */
  subtract(key: string, points: number): Promise<Tally>;
  /** So many points in a new window, whatever there was. */
  put(key: string, points: number, length: Millis): Promise<Tally>;
  read(key: string): Promise<Tally>;
  /** Forgets the key; says what there was. */
  remove(key: string): Promise<Tally>;
}

/** A count below this is exact, and nobody consumes as much. */
const MOST = 2 ** 52;
/** For ever, as a span: 30,000 years. */
export const EVER: Millis = 1e15;

export function pointsIn(store: Store<MaybePromise<Decision>>, name: string): Points {
  const planOf = plansFor(name, openFor);
  /** By which rows are read: any plan will do. */
  const reading = planOf(1);

  async function ask(verb: Verb, key: string, points: number, plan = reading): Promise<Tally> {
    const hit = { verb, plan, key, cost: points, mode: 'whole', span: 0 } as const;
    const { remaining, resetAfter } = await store.apply(hit);
    return { consumed: MOST - remaining, left: resetAfter };
  }

  return {
    add: (key, points, length) => ask(points === 0 ? 'peek' : 'take', key, points, planOf(length)),
    subtract: (key, points) => ask('refund', key, points),
    // Two hits of one tick and one plan travel together, and nothing comes between them on a single server.
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
 * Rows are read with a window of half a millisecond, the same for all, so what they hold is when the window ends. That is
 * shorter than any window that is opened, so that none of them counts as opened by a wrong clock.
 */
function openFor(length: Millis): Policy {
  const window = fixedWindow({ limit: MOST, per: '1ms', align: 'first' });
  return { ...window, params: { ...window.params, per: 0.5, first: length } };
}
