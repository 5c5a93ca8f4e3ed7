/** For APIs whose calls bring their own limits: a limiter per name and numbers, each created once. */
import { type AnyLimiter, createLimiter, type Policies, type Store } from 'sluice';
import { boundedCache } from './bounded-cache.ts';

/** Cached limiters. A limiter that was evicted is created again and finds its state in the store. */
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
