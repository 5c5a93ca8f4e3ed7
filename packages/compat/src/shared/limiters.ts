/** Caches one limiter per name and set of numbers, for APIs that pass the limits with every call. */
import { type AnyLimiter, createLimiter, type Policies, type Store } from 'sluice';
import { boundedCache } from './bounded-cache.ts';

/** The cache keeps at least this many limiters. A limiter that was evicted is created again and finds its state in the store. */
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
