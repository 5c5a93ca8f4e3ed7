/**
 * GCRA in the form that redis-cell and throttled use. A key has one theoretical arrival time, and each call specifies the rate and
 * burst by which that time is interpreted. So there is no limiter per quota; instead, every call is a hit with its own plan.
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

/**
 * Takes `quantity` units that each cost `interval`, with bursts of up to `burst`. A quantity of 0 peeks, and a negative quantity
 * refunds.
 */
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

/**
 * Creates a GCRA policy that may have a burst below 1. With such a burst, nothing passes. The factory `gcra` rejects such a burst,
 * but the algorithm handles it.
 */
function cells(interval: Millis, burst: number): Policy {
  const one = gcra({ limit: 1, per: inMillis(interval) });
  const credit = burst * interval;
  return { ...one, params: { ...one.params, burst, credit }, limit: burst, window: credit };
}

/**
 * Converts milliseconds to whole nanoseconds, the unit in which the original libraries count. Rounding removes the float error of
 * the milliseconds.
 */
export function nanos(millis: Millis): number {
  return Math.round(millis * 1e6);
}
