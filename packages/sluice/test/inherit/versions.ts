/** Versions of a limit that read each other's rows: each algorithm that can convert, with numbers that change in all ways. */
import {
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
} from '../../src/index.ts';

export const INHERIT = ['as-is', 'proportional', 'additive'] as const;

export const VERSIONS: Readonly<Record<string, readonly Policies[]>> = {
  gcra: [
    gcra({ limit: 7, per: 1000, burst: 4 }),
    gcra({ limit: 14, per: 1000, burst: 8 }),
    gcra({ limit: 3, per: 700, burst: 11 }),
  ],
  'leaky bucket': [
    leakyBucket({ size: 5, dripSize: 2, dripRate: 300 }),
    leakyBucket({ size: 9, dripSize: 2, dripRate: 300 }),
    tokenBucket({ capacity: 3, refill: 1, every: 170, continuous: false }),
  ],
  'fixed window': [
    fixedWindow({ limit: 5, per: 900 }),
    fixedWindow({ limit: 12, per: 900 }),
    fixedWindow({ limit: 7, per: 600 }),
  ],
  'fixed window from the first': [
    fixedWindow({ limit: 5, per: 900, align: 'first' }),
    fixedWindow({ limit: 11, per: 900, align: 'first' }),
  ],
  'fixed window of days': [
    fixedWindow({ limit: 500, align: 'day', timeZone: 'Europe/Berlin' }),
    fixedWindow({ limit: 700, align: 'day', timeZone: 'Europe/Berlin' }),
  ],
  'sliding window': [
    slidingWindow({ limit: 6, per: 800 }),
    slidingWindow({ limit: 13, per: 800 }),
    slidingWindow({ limit: 4, per: 500 }),
  ],
  several: [
    {
      rate: gcra({ limit: 7, per: 1000, burst: 4 }),
      window: slidingWindow({ limit: 5, per: 900 }),
      lockout: penalty({ after: 3, within: 2000, block: 500 }),
    },
    {
      rate: gcra({ limit: 5, per: 1000, burst: 6 }),
      window: slidingWindow({ limit: 8, per: 900 }),
      lockout: penalty({ after: 2, within: 1500, block: 700 }),
    },
  ],
};

/** Those whose numbers are only additive. */
export const ADDITIVE: Readonly<Record<string, readonly Policies[]>> = {
  'sliding log': [slidingLog({ limit: 5, per: 900 }), slidingLog({ limit: 8, per: 900 })],
  'several with a log': [
    { rate: gcra({ limit: 7, per: 1000, burst: 4 }), log: slidingLog({ limit: 6, per: 2000 }) },
    { rate: gcra({ limit: 14, per: 1000, burst: 8 }), log: slidingLog({ limit: 9, per: 2000 }) },
  ],
  'min interval': [minInterval({ every: 150 }), minInterval({ every: 70 })],
  pacer: [pacer({ limit: 10, per: 1000, maxBurst: 3 }), pacer({ limit: 15, per: 1000, maxBurst: 5 })],
};
