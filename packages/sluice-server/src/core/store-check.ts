/** Checks whether a store answers, by peeking at a key. */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  type Millis,
  type Store,
} from 'sluice';

/** How long a result is reused, so that frequent probes cost the store nothing. */
const REUSED: Millis = 1000;

/** Returns a function that resolves with whether the store answers. Checks never overlap. */
export function createStoreCheck(store: Store): () => Promise<boolean> {
  const limiter: Limiter<MaybePromise<Decision>> = createLimiter('1/s', { name: 'sluice:readyz', store });
  let last: Promise<boolean> | undefined;
  let checkedAt = -Infinity;

  async function check(): Promise<boolean> {
    try {
      return (await limiter.peek('probe')).source !== 'fallback';
    } catch {
      return false;
    } finally {
      checkedAt = performance.now();
    }
  }

  return () => {
    if (last === undefined || performance.now() - checkedAt > REUSED) {
      // Until this check has ended, further calls share it.
      checkedAt = Infinity;
      last = check();
    }
    return last;
  };
}
