/**
 * What every store must do, as claims that can be run under any test framework:
 *
 *   for (const { name, run } of conformance((clock) => memory({ clock }))) test(name, run);
 *
 * A table of steps per claim: when, which verb, and what the decision must say.
 */
import type { Decision, Limiter, MaybePromise, PolicySource, Store, TakeOptions } from '../index.ts';
import {
  concurrency,
  createLimiter,
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
import { type ManualClock, manualClock } from './manual-clock.ts';

export interface Claim {
  readonly name: string;
  run(): Promise<void>;
}

type AnyStore = Store<Decision> | Store<Promise<Decision>>;
type AnyLimiter = Limiter<MaybePromise<Decision>>;
type Step = readonly [at: number, ask: (limiter: AnyLimiter) => unknown, expected: object];

/** A multiple of a day, a week and 1000 seconds, so that windows start here. */
const EPOCH = 1_693_440_000_000 - (1_693_440_000_000 % (86_400_000 * 7 * 125));

/** All claims over stores made by `make`, which must use the clock it is given. */
export function conformance(make: (clock: ManualClock) => MaybePromise<AnyStore>): Claim[] {
  return CLAIMS.map(({ name, policies, steps }) => ({
    name,
    async run() {
      const clock = manualClock(EPOCH);
      const store = await make(clock);
      const limiter = createLimiter(policies, {
        store: store as Store,
        name: `claim ${name}`,
        tiers: { pro: '100/s' },
      });
      try {
        for (const [index, [at, ask, expected]] of steps.entries()) {
          clock.set(EPOCH + at);
          check(`${name}, step ${index} at ${at} ms`, await ask(limiter), expected);
        }
      } finally {
        await limiter.close();
        await store.close();
      }
    },
  }));
}

function check(where: string, actual: unknown, expected: object): void {
  for (const [field, value] of Object.entries(expected)) {
    const got = (actual as Record<string, unknown>)[field];
    if (typeof value === 'object') check(`${where}, ${field}`, got, value as object);
    else if (!same(got, value)) throw new Error(`${where}: ${field} should be ${String(value)}, is ${String(got)}`);
  }
}

/** Spans to a microsecond: an epoch millisecond in a float64 is not finer. */
function same(got: unknown, value: unknown): boolean {
  return got === value || (typeof got === 'number' && typeof value === 'number' && Math.abs(got - value) < 0.001);
}

const take = (options?: number | TakeOptions) => (limiter: AnyLimiter) => limiter.take('k', options);
const peek = (cost?: number) => (limiter: AnyLimiter) => limiter.peek('k', cost);
const refund = (cost?: number) => (limiter: AnyLimiter) => limiter.refund('k', cost);
const passed = (remaining: number, resetAfter: number) => ({ allowed: true, taken: 1, remaining, retryAfter: 0, resetAfter });
const denied = (retryAfter: number, remaining = 0) => ({ allowed: false, taken: 0, remaining, retryAfter });

const CLAIMS: readonly { name: string; policies: PolicySource; steps: readonly Step[] }[] = [
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
  {
    name: 'several policies are charged all or nothing, and the one that denies is named',
    policies: { second: gcra({ limit: 2, per: '1s' }), day: fixedWindow({ limit: 3, per: '1d' }) },
    steps: [
      [0, take(2), { allowed: true, policy: 'second', remaining: 0, policies: { 1: { name: 'day', remaining: 1 } } }],
      [0, take(), { ...denied(500), policy: 'second', policies: { 1: { remaining: 1, retryAfter: 0 } } }],
      [1000, take(2), { ...denied(86_399_000, 1), policy: 'day', policies: { 0: { remaining: 2 } } }],
      [1000, take(), { allowed: true, policy: 'day', remaining: 0 }],
    ],
  },
  {
    name: 'partial mode takes as much as fits',
    policies: '5/s',
    steps: [
      [0, take({ cost: 3, mode: 'partial' }), { allowed: true, taken: 3, remaining: 2 }],
      [0, take({ cost: 3, mode: 'partial' }), { allowed: true, taken: 2, remaining: 0, retryAfter: 0 }],
      [0, take({ cost: 3, mode: 'partial' }), { allowed: false, taken: 0, retryAfter: 200 }],
      [1000, take({ cost: 9, mode: 'partial' }), { allowed: true, taken: 5 }],
    ],
  },
  {
    name: 'always mode counts refused attempts too',
    policies: slidingLog({ limit: 2, per: '1s' }),
    steps: [
      [0, take({ mode: 'always' }), { allowed: true, taken: 1 }],
      [100, take({ mode: 'always' }), { allowed: true, taken: 1 }],
      [200, take({ mode: 'always' }), { allowed: false, taken: 1, retryAfter: 900 }],
      [1050, take({ mode: 'always' }), { allowed: false, retryAfter: 150 }],
      [2200, take({ mode: 'always' }), { allowed: true }],
    ],
  },
  {
    name: 'a refund gives back and never mints',
    policies: { rate: '5/s', log: '5/s sliding-log', window: '5/s fixed-window', leaky: leakyBucket({ size: 5 }) },
    steps: [
      [0, take(4), { allowed: true, remaining: 1 }],
      [0, refund(2), { remaining: 3, policies: { 0: { remaining: 3 }, 1: { remaining: 3 }, 3: { remaining: 3 } } }],
      [0, refund(100), { remaining: 5 }],
      [0, take(6), denied(Infinity, 5)],
      [0, (limiter) => limiter.refund('never seen', 3), { remaining: 5 }],
      [0, (limiter) => limiter.take('never seen', 6), { allowed: false, remaining: 5 }],
    ],
  },
  {
    name: 'reserve books the future, cancel gives it back once, and what cannot be booked is not charged',
    policies: gcra({ limit: 10, per: '1s', burst: 1 }),
    steps: [
      [0, (limiter) => limiter.reserve('k'), { delay: 0, decision: { allowed: true, taken: 1 } }],
      [0, (limiter) => limiter.reserve('k'), { delay: 100, decision: { allowed: true, taken: 1, retryAfter: 0 } }],
      [0, (limiter) => limiter.reserve('k', { maxDelay: 150 }), { delay: Infinity, decision: { allowed: false, taken: 0 } }],
      [0, (limiter) => limiter.reserve('k', 2), { delay: Infinity, decision: { retryAfter: Infinity } }],
      [
        0,
        async (limiter) => {
          const turn = await limiter.reserve('k');
          await turn.cancel();
          await turn.cancel();
          return { delay: turn.delay, next: (await limiter.peek('k')).retryAfter };
        },
        { delay: 200, next: 200 },
      ],
    ],
  },
  {
    name: 'a window cannot be booked ahead',
    policies: fixedWindow({ limit: 1, per: '1s' }),
    steps: [
      [0, (limiter) => limiter.reserve('k'), { delay: 0 }],
      [0, (limiter) => limiter.reserve('k'), { delay: Infinity, decision: { taken: 0, retryAfter: 1000 } }],
      [1000, take(), { allowed: true }],
    ],
  },
  {
    name: 'a block by hand denies until its end, and a reset makes the key new',
    policies: '5/s',
    steps: [
      [0, (limiter) => limiter.block('k', '10s'), { allowed: false, remaining: 0, retryAfter: 10_000, policy: 'block' }],
      [1, take(), { ...denied(9999), policy: 'block' }],
      [1, (limiter) => limiter.take('other'), { allowed: true }],
      [9999.9, take(), denied(0.1)],
      [10_000, take(5), { allowed: true }],
      [10_000, (limiter) => limiter.block('k', '10s'), { allowed: false }],
      [10_000, (limiter) => limiter.reset('k'), { allowed: true, remaining: 5 }],
      [10_000, take(5), { allowed: true, remaining: 0 }],
    ],
  },
  {
    name: 'a cost of 0 peeks',
    policies: '5/s',
    steps: [
      [0, take(0), { allowed: true, taken: 0, remaining: 5 }],
      [0, take(5), { allowed: true }],
      [0, take(0), { allowed: true, taken: 0, remaining: 0 }],
    ],
  },
  {
    name: 'a tier has its own policies and takes over the state of the same algorithm',
    policies: '10/s',
    steps: [
      [0, take(10), { allowed: true, remaining: 0 }],
      [0, take({ tier: 'pro', cost: 50 }), { allowed: true, limit: 100, remaining: 40 }],
      [0, take(), { allowed: false }],
    ],
  },
  {
    name: 'several keys are taken all or nothing',
    policies: '3/s',
    steps: [
      [0, (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'user', cost: 2 }]), { allowed: true, taken: 3, remaining: 1 }],
      [0, (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'user', cost: 2 }]), { allowed: false, taken: 0 }],
      [0, (limiter) => limiter.peek('ip'), { remaining: 2 }],
      [0, (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'ip' }]), { allowed: true, remaining: 0 }],
      [0, (limiter) => limiter.takeMany([{ key: 'x', cost: 2 }, { key: 'x', cost: 2 }]), { allowed: false }],
      [0, (limiter) => limiter.peek('x'), { remaining: 3 }],
    ],
  },
  {
    name: 'a clock that goes back mints nothing and blocks no longer than it went back',
    policies: { a: '2/s', b: '2/s sliding-log', c: '2/s fixed-window', d: leakyBucket({ size: 2, dripRate: 500 }), e: '2/s sliding-window' },
    steps: [
      [60_000, take(2), { allowed: true, remaining: 0 }],
      [50_000, take(), { allowed: false, remaining: 0 }],
      [61_500, take(), { allowed: true }],
    ],
  },
  {
    name: 'odd keys are keys like any other',
    policies: '1/s',
    steps: ['', '__proto__', 'constructor', '{a}{b}', '{a}', 'a\nb', 'a\0', 'a', '🚰', '\ud83d', '\ude00', 'x'.repeat(1_000_000)].flatMap(
      (key): Step[] => [
        [0, (limiter) => limiter.take(key), { allowed: true }],
        [0, (limiter) => limiter.take(key), { allowed: false }],
      ],
    ),
  },
];
