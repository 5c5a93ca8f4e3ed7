/** For old APIs whose calls bring their own numbers: limiters by their name and numbers, each made once. */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  type Policies,
  type Store,
} from '../../index.ts';
import { boundedCache } from '../../internal/bounded-cache.ts';

export type AnyLimiter = Limiter<MaybePromise<Decision>>;

/** Limiters kept ready; one that was dropped is made again and finds its state in the store. */
const READY = 1000;

export function limitersOf(
  store: Store,
): (name: string, numbers: string, make: () => Policies) => AnyLimiter {
  const made = boundedCache<AnyLimiter>(READY);
  return (name, numbers, make) => {
    const id = `${numbers} ${name}`;
    return made.get(id) ?? made.set(id, createLimiter(make(), { store, name }));
  };
}
