/**
 * Points of a key, and when they are forgotten: a fixed window without a limit, which each call opens for as long as it
 * likes. What the points mean is the limiter's concern.
 */
import {
  type Decision,
  fixedWindow,
  type MaybePromise,
  type Millis,
  type Policy,
  type Store,
  type Verb,
} from '../../index.ts';
import { plansFor } from '../shared/plans.ts';

export interface Tally {
  readonly consumed: number;
  /** Until they are forgotten; 0 when there are none, Infinity: never. */
  readonly left: Millis;
}

export interface Points {
  /** Adds points, and opens a window of `length` (Infinity: for ever) if none is open. */
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
    const decision = await store.apply({ verb, plan, key, cost: points, mode: 'whole', span: 0 });
    const { resetAfter } = decision;
    return { consumed: MOST - decision.remaining, left: resetAfter > EVER / 2 ? Infinity : resetAfter };
  }

  const openedFor = (length: Millis) => planOf(Math.min(length, EVER));

  return {
    add: (key, points, length) => ask(points === 0 ? 'peek' : 'take', key, points, openedFor(length)),
    subtract: (key, points) => ask('refund', key, points),
    // Two hits of one tick and one plan travel together, and nothing comes between them on a single server.
    async put(key, points, length) {
      const plan = openedFor(length);
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

/** Rows are read with a window of 1 ms, the same for all, so what they hold is when the window ends. */
function openFor(length: Millis): Policy {
  const window = fixedWindow({ limit: MOST, per: 1, align: 'first' });
  return { ...window, params: { ...window.params, first: length } };
}
