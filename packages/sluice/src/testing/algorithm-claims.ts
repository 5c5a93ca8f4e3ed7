/** What each algorithm admits and announces. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../index.ts';

import { type ClaimSteps, denied, passed, peek, take } from './steps.ts';

export const ALGORITHM_CLAIMS: readonly ClaimSteps[] = [
  {
    name: 'gcra lets a burst pass at once, then one per interval, and announces the instant',
    policies: gcra({ limit: 10, per: '1s', burst: 3 }),
    steps: [
      [0, take(), { ...passed(2, 100), limit: 3, policy: 'default' }],
      [0, take(2), { allowed: true, taken: 2, remaining: 0, resetAfter: 300 }],
      [0, take(), denied(100)],
      [99.99, take(), denied(0.01)],
      [100, take(), passed(0, 300)],
      [400, take(3), { allowed: true, remaining: 0 }],
      [400, take(4), denied(Infinity)],
    ],
  },
  {
    name: 'a denied take changes nothing',
    policies: gcra({ limit: 10, per: '1s', burst: 3 }),
    steps: [
      [0, take(2), { remaining: 1 }],
      [50, take(2), denied(50, 1)],
      [50, take(3), denied(150, 1)],
      [50, peek(), { allowed: true, remaining: 1, taken: 0 }],
      [100, take(2), { allowed: true, remaining: 0 }],
    ],
  },
  {
    name: 'a token bucket refills evenly, or in steps',
    policies: {
      even: tokenBucket({ capacity: 10, refill: 5, every: '1s' }),
      steps: tokenBucket({ capacity: 10, refill: 5, every: '1s', continuous: false }),
    },
    steps: [
      [0, take(10), { allowed: true, policies: { 0: { remaining: 0 }, 1: { remaining: 0 } } }],
      [200, take(), { ...denied(800), policy: 'steps', policies: { 0: { remaining: 1, retryAfter: 0 } } }],
      [1000, take(5), { allowed: true, remaining: 0 }],
      [1000, take(5), { retryAfter: 1000 }],
    ],
  },
  {
    name: 'a leaky bucket drips in steps from the request that found it empty',
    policies: leakyBucket({ size: 3, dripSize: 2, dripRate: 1000 }),
    steps: [
      [250, take(3), { allowed: true, remaining: 0, resetAfter: 2000 }],
      [300, take(), denied(950)],
      [1249, take(), denied(1)],
      [1250, take(), { allowed: true, remaining: 1, resetAfter: 1000 }],
      [2250, take(), passed(2, 1000)],
      [7777, take(3), { allowed: true, resetAfter: 2000 }],
    ],
  },
  {
    name: 'a fixed window counts from multiples of its length',
    policies: fixedWindow({ limit: 2, per: '1s' }),
    steps: [
      [900, take(), passed(1, 100)],
      [950, take(), passed(0, 50)],
      [999, take(), denied(1)],
      [1000, take(2), { allowed: true, remaining: 0, resetAfter: 1000 }],
      [1500, take(3), denied(Infinity)],
    ],
  },
  {
    name: 'a fixed window can open with the first request',
    policies: fixedWindow({ limit: 2, per: '1s', align: 'first' }),
    steps: [
      [900, take(2), { allowed: true, resetAfter: 1000 }],
      [1100, take(), denied(800)],
      [1900, take(), passed(1, 1000)],
    ],
  },
  {
    name: 'a calendar window ends with the day of its time zone',
    policies: fixedWindow({ limit: 1, align: 'day', timeZone: 'Asia/Kathmandu' }),
    steps: [
      [0, take(), { ...passed(0, (24 - 5.75) * 3_600_000) }],
      [18.25 * 3_600_000 - 1, take(), denied(1)],
      [18.25 * 3_600_000, take(), passed(0, 24 * 3_600_000)],
    ],
  },
  {
    name: 'a sliding window fades the older count and solves the wait, also across its end',
    policies: slidingWindow({ limit: 10, per: '1s' }),
    steps: [
      [500, take(10), { allowed: true, remaining: 0, resetAfter: 1500 }],
      [600, take(), denied(500)],
      [1100, take(), passed(0, 1900)],
      [1150, take(), denied(50)],
      [1500, take(5), { ...denied(100), remaining: 4 }],
      [1600, take(5), { allowed: true, remaining: 0 }],
    ],
  },
  {
    name: 'a sliding log never has more than the limit in any window',
    policies: slidingLog({ limit: 3, per: '1s' }),
    steps: [
      [0, take(), passed(2, 1000)],
      [400, take(2), { allowed: true, remaining: 0, resetAfter: 1000 }],
      [500, take(), denied(500)],
      [500, take(2), denied(900)],
      [999.9, take(), denied(0.1)],
      [1000, take(), passed(0, 1000)],
      [1400, take(2), { allowed: true, remaining: 0 }],
    ],
  },
  {
    name: 'a sliding log of sub-windows forgets a whole sub-window at a time, never early',
    policies: slidingLog({ limit: 2, per: '1s', resolution: 10 }),
    steps: [
      [0, take(), passed(1, 1100)],
      [99, take(), passed(0, 1001)],
      [1000, take(), denied(100)],
      [1100, take(2), { allowed: true, remaining: 0 }],
    ],
  },
  {
    name: 'a pacer lets the cost delay the next one',
    policies: pacer({ limit: 10, per: '1s' }),
    steps: [
      [0, take(5), { allowed: true, taken: 5 }],
      [100, take(), denied(400)],
      [500, take(), { allowed: true }],
      [500, take(), denied(100)],
      [5000, peek(), { allowed: true, remaining: 10 }],
      [5000, take(), { allowed: true }],
      [5000, take(), denied(100)],
    ],
  },
  {
    name: 'a pacer warms up: the first after a pause are slower',
    policies: pacer({ limit: 10, per: '1s', warmup: '2s', coldFactor: 3 }),
    steps: [
      [0, take(), { allowed: true }],
      [0, take(), denied(290)],
      [290, take(5), { allowed: true }],
      [290, take(), denied(1150)],
    ],
  },
  {
    name: 'concurrency holds a place until it is released or its lease ends',
    policies: concurrency({ limit: 2, lease: '10s' }),
    steps: [
      [0, take(), passed(1, 10_000)],
      [100, take(), passed(0, 10_000)],
      [200, take(), denied(9800)],
      [300, (limiter) => limiter.release('k'), { allowed: true, remaining: 1 }],
      [300, take(), passed(0, 10_000)],
      [10_100, take(), passed(0, 10_000)],
    ],
  },
  {
    name: 'a least interval is kept between two actions',
    policies: minInterval({ every: 250 }),
    steps: [
      [0, take(), passed(0, 250)],
      [100, take(), denied(150)],
      [250, take(), passed(0, 250)],
    ],
  },
  {
    name: 'denials lead to a block that grows, and attempts during it do not prolong it',
    policies: {
      rate: fixedWindow({ limit: 1, per: '1s' }),
      lockout: penalty({ after: 2, within: '10s', block: '5s', factor: 3, max: '12s' }),
    },
    steps: [
      [0, take(), { allowed: true, policy: 'rate' }],
      [0, take(), { ...denied(1000), policy: 'rate' }],
      [0, take(), { ...denied(5000), policy: 'lockout' }],
      [2000, take(), denied(3000, 0)],
      [5000, take(), { allowed: true }],
      [5000, take(), denied(1000)],
      [5000, take(), denied(12_000)],
      [17_000, take(), { allowed: true }],
      [27_000, take(), { allowed: true }],
      [27_000, take(), denied(1000)],
      [27_000, take(), denied(5000)],
    ],
  },
];
