/**
 * Points of a key, and how a caller is told of them: a fixed window without a limit, which each call opens for as long as
 * it likes. What the points mean is the limiter's concern.
 */
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type MaybePromise,
  memory,
  type MemoryStore,
  type Millis,
  type Policy,
  type Store,
  StoreUnavailable,
  type Verb,
} from '../../index.ts';
import { plansFor } from '../shared/plans.ts';
import { wholeUnits } from '../shared/rounding.ts';
import type { StoreOptions } from '../shared/store-of.ts';

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

/** Rows are read with a window of 1 ms, the same for all, so what they hold is when the window ends. */
function openFor(length: Millis): Policy {
  const window = fixedWindow({ limit: MOST, per: 1, align: 'first' });
  return { ...window, params: { ...window.params, first: length } };
}

/** Keys that this process refuses by itself: blocks by hand of a limiter in memory. */
export interface LocalBlocks {
  readonly store: MemoryStore;
  readonly limiter: Limiter;
  /** From so many consumed points on … */
  readonly from: number;
  /** … for so long; 0: as long as the server would refuse it. */
  readonly length: Millis;
}

const MAX_LOCAL_BLOCKS = 100_000;

export function localBlocks(from: number, length: Millis, clock: StoreOptions['clock']): LocalBlocks {
  const store = memory({ clock, maxKeys: MAX_LOCAL_BLOCKS });
  return { store, limiter: createLimiter('1/s', { store }), from, length };
}

/** Fails at once while the client is not connected. */
export function onlyWhenReady(
  store: Store<MaybePromise<Decision>>,
  client: { readonly status?: unknown; readonly isReady?: unknown },
): Store<MaybePromise<Decision>> {
  /** ioredis and iovalkey have a word for it, node-redis a flag. */
  const isReady = (): boolean =>
    client.status === undefined ? client.isReady !== false : client.status === 'ready';
  return {
    ...store,
    apply: (hit) => (isReady() ? store.apply(hit) : Promise.reject(new StoreUnavailable('connection'))),
  };
}

/** What there is of a key. */
export class RateLimiterRes {
  /** Until its points are forgotten; −1: never. */
  readonly msBeforeNext: Millis;
  readonly remainingPoints: number;
  /** May be above the limit: refused points are counted, too. */
  readonly consumedPoints: number;
  readonly isFirstInDuration: boolean;

  constructor(remainingPoints = 0, msBeforeNext = 0, consumedPoints = 0, isFirstInDuration = false) {
    this.msBeforeNext = msBeforeNext;
    this.remainingPoints = remainingPoints;
    this.consumedPoints = consumedPoints;
    this.isFirstInDuration = isFirstInDuration;
  }

  toJSON(): {
    remainingPoints: number;
    msBeforeNext: Millis;
    consumedPoints: number;
    isFirstInDuration: boolean;
  } {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = this;
    return { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration };
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** As `msBeforeNext` says it. */
export function msOf(left: Millis): Millis {
  return left > EVER / 2 ? -1 : wholeUnits(left);
}

/** A refusal is no Error, but what their callers catch. */
export function refuse(answer: unknown): Promise<never> {
  return Promise.reject(answer);
}
