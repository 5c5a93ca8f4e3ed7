/** One or more policies of every algorithm, with the maximum that any window of a given length may admit. */
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
} from '../../src/index.ts';

export interface Case {
  readonly policies: Policies;
  /** The maximum number of units that any half-open window of this many milliseconds may admit, if no cost is above `maxCost`. */
  readonly atMost: (window: number, maxCost: number) => number;
  /** A window length worth checking. */
  readonly window: number;
}

export const CASES: Readonly<Record<string, Case>> = {
  gcra: {
    policies: gcra({ limit: 7, per: 1000, burst: 4 }),
    atMost: (w) => 4 + (w * 7) / 1000,
    window: 1000,
  },
  'token bucket': {
    policies: tokenBucket({ capacity: 6, refill: 3, every: '700ms' }),
    atMost: (w) => 6 + (w * 3) / 700,
    window: 700,
  },
  'token bucket in steps': {
    policies: tokenBucket({ capacity: 6, refill: 3, every: '700ms', continuous: false }),
    atMost: (w) => 6 + Math.ceil(w / 700) * 3,
    window: 700,
  },
  'leaky bucket': {
    policies: leakyBucket({ size: 5, dripSize: 2, dripRate: 300 }),
    atMost: (w) => 5 + Math.ceil(w / 300) * 2,
    window: 900,
  },
  'fixed window': {
    policies: fixedWindow({ limit: 5, per: '900ms' }),
    atMost: (w) => 5 * (Math.ceil(w / 900) + 1),
    window: 900,
  },
  'fixed window from the first hit': {
    policies: fixedWindow({ limit: 5, per: '900ms', align: 'first' }),
    atMost: (w) => 5 * (Math.ceil(w / 900) + 1),
    window: 900,
  },
  'fixed window of days': {
    policies: fixedWindow({ limit: 5, align: 'day', timeZone: 'Europe/Berlin' }),
    atMost: (w) => 5 * (Math.ceil(w / 82_800_000) + 1),
    window: 86_400_000,
  },
  'sliding window': { policies: slidingWindow({ limit: 6, per: '800ms' }), atMost: () => 2 * 6, window: 800 },
  'sliding log': { policies: slidingLog({ limit: 5, per: '900ms' }), atMost: () => 5, window: 900 },
  'sliding log in sub-windows': {
    policies: slidingLog({ limit: 5, per: '900ms', resolution: 7 }),
    atMost: () => 5,
    window: 900,
  },
  concurrency: { policies: concurrency({ limit: 4, lease: '600ms' }), atMost: () => 4, window: 600 },
  'min interval': {
    policies: minInterval({ every: '150ms' }),
    atMost: (w, maxCost) => maxCost * (1 + w / 150),
    window: 700,
  },
  pacer: {
    policies: pacer({ limit: 10, per: 1000 }),
    atMost: (w, maxCost) => maxCost + w / 100,
    window: 1000,
  },
  'pacer with a burst': {
    policies: pacer({ limit: 10, per: 1000, maxBurst: 3 }),
    atMost: (w, maxCost) => maxCost + 3 + w / 100,
    window: 1000,
  },
  'pacer warming up': {
    policies: pacer({ limit: 10, per: 1000, warmup: '500ms' }),
    atMost: (w, maxCost) => maxCost + w / 100,
    window: 1000,
  },
  'pacer in microseconds': {
    policies: pacer({ limit: 7, per: 1000, maxBurst: 3, resolution: 'microseconds' }),
    // Each grant may be a microsecond early.
    atMost: (w, maxCost) => maxCost + 3 + w / 142.85,
    window: 1000,
  },
  'pacer warming up in microseconds': {
    policies: pacer({ limit: 7, per: 1000, warmup: '500ms', resolution: 'microseconds' }),
    atMost: (w, maxCost) => maxCost + w / 142.85,
    window: 1000,
  },
  several: {
    policies: {
      rate: gcra({ limit: 7, per: 1000, burst: 4 }),
      log: slidingLog({ limit: 6, per: 2000 }),
      window: fixedWindow({ limit: 5, per: '900ms' }),
    },
    atMost: (w) => Math.min(4 + (w * 7) / 1000, 6 * Math.ceil(w / 2000)),
    window: 900,
  },
  'concurrency and a rate': {
    policies: {
      rate: gcra({ limit: 7, per: 1000, burst: 4 }),
      many: concurrency({ limit: 9, lease: '900ms' }),
      few: concurrency({ limit: 3, lease: '600ms' }),
    },
    atMost: (w) => Math.min(4 + (w * 7) / 1000, 3 * Math.ceil(w / 600)),
    window: 600,
  },
  'several policies with a penalty': {
    policies: {
      rate: gcra({ limit: 7, per: 1000, burst: 4 }),
      lockout: penalty({ after: 3, within: 2000, block: '500ms' }),
    },
    atMost: (w) => 4 + (w * 7) / 1000,
    window: 1000,
  },
};
