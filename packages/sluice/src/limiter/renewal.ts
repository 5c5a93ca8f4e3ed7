/**
 * Renews held places, so that their leases do not end while their holders run. With renewals, the length of a lease only determines
 * how soon the place of a crashed holder is free again.
 */
import type { Clock, Decision, MaybePromise, Millis } from '../engine/contract.ts';
import { chain, isPromise } from '../internal/maybe-promise.ts';

/** Number of renewals per lease, so that two of them may fail before the place is lost. */
const PER_LEASE = 3;

export interface Keeper {
  /** Renews the place that the decision took, until all units of the place are given back. */
  keep(of: Decision, cost: number, lease: Millis, renew: Renew): void;
  /**
   * Returns the decision that identifies the place now. The units in `cost` are about to be given back, so they are no longer
   * renewed.
   */
  latest(of: Decision, cost: number): MaybePromise<Decision>;
}

type Renew = (cost: number, of: Decision) => MaybePromise<Decision>;

interface Place {
  /** Units that are not given back yet. */
  left: number;
  /** The answer to the last renewal. Undefined if there was none. */
  latest: Decision | undefined;
  /** Resolves when the renewal in progress has an answer. */
  renewing: Promise<void> | undefined;
  cancel: (() => void) | undefined;
}

export function keeper(clock: Pick<Clock, 'after'>): Keeper {
  const places = new WeakMap<Decision, Place>();

  function keep(of: Decision, cost: number, lease: Millis, renew: Renew): void {
    // Only a place can be renewed. The store finds it by the decision's `at`.
    if (of.held !== true || !(cost > 0)) return;
    const known = places.get(of);
    if (known !== undefined) {
      known.left += cost;
      return;
    }
    const place: Place = { left: cost, latest: undefined, renewing: undefined, cancel: undefined };
    places.set(of, place);
    // A release needs the decision. Once the decision has been garbage-collected, no release can follow, and the lease may end.
    const original = weakTo(of);
    const every = lease / PER_LEASE;
    function arm(): void {
      place.cancel = clock.after(every, ring, true);
    }
    function ring(): void {
      const holder = original.deref();
      if (holder === undefined) return;
      arm();
      if (place.renewing === undefined) renewOnce(place, () => renew(place.left, place.latest ?? holder));
    }
    arm();
  }

  return {
    keep,
    latest(of, cost) {
      const place = places.get(of);
      if (place === undefined) return of;
      place.left -= cost;
      if (place.left <= 0) place.cancel?.();
      return chain(place.renewing, () => place.latest ?? of);
    },
  };
}

/** Renews a place once. A failed renewal is not repeated, because the next one is due before the lease ends. */
function renewOnce(place: Place, renew: () => MaybePromise<Decision>): void {
  const renewed = (decision: Decision): void => {
    if (decision.at !== undefined) place.latest = decision;
  };
  try {
    const answer = renew();
    if (!isPromise(answer)) {
      renewed(answer);
      return;
    }
    place.renewing = answer
      .then(renewed, () => {})
      .finally(() => {
        place.renewing = undefined;
      });
  } catch {}
}

/** A weak reference. In a runtime without `WeakRef`, a place is renewed until it is released. */
function weakTo<T extends object>(value: T): { deref(): T | undefined } {
  return typeof WeakRef === 'undefined' ? { deref: () => value } : new WeakRef(value);
}
