/** Versions of a limit that read each other's rows, for each algorithm that can convert state. All numbers vary. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  type Policies,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts';

export const INHERIT = ['as-is', 'proportional', 'additive'] as const;

export const VERSIONS: Readonly<Record<string, readonly Policies[]>> = {
  gcra: [
    gcra({ limit: 7, per: 1000, burst: 4 }),
    gcra({ limit: 14, per: 1000, burst: 8 }),
    gcra({ limit: 3, per: '700ms', burst: 11 }),
  ],
  'leaky bucket': [
    leakyBucket({ size: 5, dripSize: 2, dripRate: 300 }),
    leakyBucket({ size: 9, dripSize: 2, dripRate: 300 }),
    tokenBucket({ capacity: 3, refill: 1, every: '170ms', continuous: false }),
  ],
  'fixed window': [
    fixedWindow({ limit: 5, per: '900ms' }),
    fixedWindow({ limit: 12, per: '900ms' }),
    fixedWindow({ limit: 7, per: '600ms' }),
  ],
  'fixed window from the first hit': [
    fixedWindow({ limit: 5, per: '900ms', align: 'first' }),
    fixedWindow({ limit: 11, per: '900ms', align: 'first' }),
  ],
  'fixed window of days': [
    fixedWindow({ limit: 500, align: 'day', timeZone: 'Europe/Berlin' }),
    fixedWindow({ limit: 700, align: 'day', timeZone: 'Europe/Berlin' }),
  ],
  'sliding window': [
    slidingWindow({ limit: 6, per: '800ms' }),
    slidingWindow({ limit: 13, per: '800ms' }),
    slidingWindow({ limit: 4, per: '500ms' }),
  ],
  several: [
    {
      rate: gcra({ limit: 7, per: 1000, burst: 4 }),
      window: slidingWindow({ limit: 5, per: '900ms' }),
      lockout: penalty({ after: 3, within: 2000, block: '500ms' }),
    },
    {
      rate: gcra({ limit: 5, per: 1000, burst: 6 }),
      window: slidingWindow({ limit: 8, per: '900ms' }),
      lockout: penalty({ after: 2, within: 1500, block: '700ms' }),
    },
  ],
};

/** Tiers of one limiter that have different policies, in a row that all of them share. */
export const TIERS: Readonly<Record<string, readonly [Policies, ...Policies[]]>> = {
  'an additional policy in one tier': [
    fixedWindow({ limit: 5, per: '900ms' }),
    { second: gcra({ limit: 7, per: 1000, burst: 4 }), day: fixedWindow({ limit: 9, per: '900ms' }) },
  ],
  'nothing in common': [gcra({ limit: 7, per: 1000 }), slidingWindow({ limit: 5, per: '900ms' })],
  'three gcra with names in any order': [
    { b: gcra({ limit: 20, per: 3000 }), a: gcra({ limit: 7, per: 1000 }) },
    { a: gcra({ limit: 9, per: 1000, burst: 3 }), c: gcra({ limit: 30, per: 5000 }) },
    gcra({ limit: 5, per: 3000 }),
    {
      c: gcra({ limit: 10, per: 5000 }),
      b: gcra({ limit: 6, per: 2000 }),
      a: gcra({ limit: 4, per: '500ms' }),
    },
  ],
  'with a penalty': [
    { rate: gcra({ limit: 7, per: 1000 }), lockout: penalty({ after: 3, within: 2000, block: 500 }) },
    leakyBucket({ size: 5, dripSize: 2, dripRate: 300 }),
  ],
};

/** Tiers with policies that support only 'additive' and 'reset'. */
export const ADDITIVE_TIERS: typeof TIERS = {
  'a sliding log in one tier': [
    gcra({ limit: 7, per: 1000 }),
    { log: slidingLog({ limit: 6, per: 2000 }), rate: gcra({ limit: 14, per: 1000 }) },
  ],
  'two sliding logs, one of which two tiers have in common': [
    { short: slidingLog({ limit: 5, per: '900ms' }), jobs: concurrency({ limit: 3, lease: '700ms' }) },
    { long: slidingLog({ limit: 12, per: 3000 }), short: slidingLog({ limit: 8, per: '900ms' }) },
    minInterval({ every: '150ms' }),
  ],
};

/** Versions of policies that support only 'additive' and 'reset'. */
export const ADDITIVE: Readonly<Record<string, readonly Policies[]>> = {
  'sliding log': [slidingLog({ limit: 5, per: '900ms' }), slidingLog({ limit: 8, per: '900ms' })],
  'several with a sliding log': [
    { rate: gcra({ limit: 7, per: 1000, burst: 4 }), log: slidingLog({ limit: 6, per: 2000 }) },
    { rate: gcra({ limit: 14, per: 1000, burst: 8 }), log: slidingLog({ limit: 9, per: 2000 }) },
  ],
  'min interval': [minInterval({ every: '150ms' }), minInterval({ every: '70ms' })],
  pacer: [pacer({ limit: 10, per: 1000, maxBurst: 3 }), pacer({ limit: 15, per: 1000, maxBurst: 5 })],
};
