/** For old APIs whose calls bring their own numbers: limiters by their name and numbers, each made once. */
import { type AnyLimiter, createLimiter, type Policies, type Store } from 'sluice';
import { boundedCache } from './bounded-cache.ts';

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
