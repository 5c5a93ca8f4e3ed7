/** The stores on which these tests run, and a policy of every kind with the same limit and window. */
import {
  casStore,
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  type MaybePromise,
  type Policies,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { type MakeStore, STORES } from '../support/stores.ts';

/**
 * Valkey is left out: it runs the same script, but its server answers only once every 100 ms. The conformance suite includes
 * it.
 */
const { valkey: _, ...quick } = STORES;

export const EVERY_STORE: readonly (readonly [string, MakeStore])[] = Object.entries({
  ...quick,
  'compare and swap': (clock: ManualClock) =>
    casStore(valuesInAMap(), { onFailure: 'throw', clock, deadline: '30s' }),
});

function valuesInAMap() {
  const kept = new Map<string, { value: Uint8Array; version: number }>();
  let version = 0;
  return {
    get: (key: string) => kept.get(key),
    put(key: string, value: Uint8Array, expected: number | undefined) {
      if (kept.get(key)?.version !== expected) return false;
      kept.set(key, { value, version: ++version });
      return true;
    },
  };
}

export const START = 1_700_000_000_000;

export interface Opened {
  readonly limiter: Limiter<MaybePromise<Decision>>;
  readonly clock: ManualClock;
}

export function open(make: MakeStore, policies: Policies): Opened {
  const clock = manualClock(START);
  return { limiter: createLimiter(policies, { store: make(clock), name: crypto.randomUUID() }), clock };
}

/** Policies of `limit` units per `millis` milliseconds, one for every algorithm that takes these numbers. */
export function kinds(limit: number, millis: number): Readonly<Record<string, Policy>> {
  const per = `${millis}ms`;
  return {
    gcra: gcra({ limit, per }),
    'token bucket': tokenBucket({ capacity: limit, refill: limit, every: per }),
    'token bucket in steps': tokenBucket({ capacity: limit, refill: limit, every: per, continuous: false }),
    'leaky bucket': leakyBucket({ size: limit, dripSize: limit, dripRate: per }),
    'fixed window': fixedWindow({ limit, per }),
    'fixed window from the first hit': fixedWindow({ limit, per, align: 'first' }),
    'sliding window': slidingWindow({ limit, per }),
    'sliding log': slidingLog({ limit, per }),
    'sliding log in sub-windows': slidingLog({ limit, per, resolution: 10 }),
    concurrency: concurrency({ limit, lease: per }),
  };
}

/** How many of `calls` sequential calls are allowed. */
export async function passed(limiter: Opened['limiter'], key: string, calls: number): Promise<number> {
  let count = 0;
  for (let i = 0; i < calls; i++) if ((await limiter.take(key)).allowed) count++;
  return count;
}
