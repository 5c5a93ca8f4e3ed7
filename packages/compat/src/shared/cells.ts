/**
 * GCRA as redis-cell and throttled count it: a key has one arrival time, and each call says by which rate and burst it
 * is read. So there is no limiter per quota: every call is a hit with a plan.
 */
import { inMillis } from './millis.ts';
import {
  type Decision,
  gcra,
  type MaybePromise,
  type Millis,
  type Policy,
  SluiceError,
  type Store,
} from 'sluice';
import { cost as checkCost } from './options.ts';
import { plansFor } from './plans.ts';

/** Asks for `quantity` units, each of which costs `interval`; `burst` of them pass at once. 0 peeks, less gives back. */
export type Count<R> = (key: string, interval: Millis, burst: number, quantity: number) => R;

export function cellCounter<R extends MaybePromise<Decision>>(store: Store<R>, name: string): Count<R> {
  const planOf = plansFor(name, cells);
  return (key, interval, burst, quantity) => {
    if (typeof key !== 'string') throw new SluiceError('ERR_KEY', 'key', key);
    checkCost('quantity', Math.abs(quantity));
    return store.apply({
      verb: quantity === 0 ? 'peek' : quantity < 0 ? 'refund' : 'take',
      plan: planOf(interval, burst),
      key,
      cost: Math.abs(quantity),
      mode: 'whole',
      span: 0,
    });
  };
}

/** A burst below 1 is not an option of `gcra`, but its arithmetic knows what it means: nothing passes. */
function cells(interval: Millis, burst: number): Policy {
  const one = gcra({ limit: 1, per: inMillis(interval) });
  const credit = burst * interval;
  return { ...one, params: { ...one.params, burst, credit }, limit: burst, window: credit };
}

/** Theirs are whole nanoseconds; a float64 of milliseconds is a little off. */
export function nanos(span: Millis): number {
  return Math.round(span * 1e6);
}
