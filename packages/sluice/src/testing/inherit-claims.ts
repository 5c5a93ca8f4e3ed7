/** Claims about how a key's state is converted when its limits change. A tier represents the changed limit. */
import { fixedWindow, gcra, leakyBucket, type Policy, slidingLog, slidingWindow } from '../index.ts';
import { type ClaimSteps, peek, refund, take } from './steps.ts';

/** One policy of each kind whose state can be converted, all with the same limit. */
const all = (limit: number): Record<string, Policy> => ({
  rate: gcra({ limit, per: '1s' }),
  leaky: leakyBucket({ size: limit, dripRate: '1s' }),
  window: fixedWindow({ limit, per: '10s' }),
  first: fixedWindow({ limit, per: '10s', align: 'first' }),
  day: fixedWindow({ limit, align: 'day', timeZone: 'UTC' }),
  sliding: slidingWindow({ limit, per: '10s' }),
});
const tiers = { more: all(20), same: all(10) };
const more = (cost: number) => take({ cost, tier: 'more' });
/** The expected `remaining` of every policy. */
const left = (remaining: number): object => ({
  policies: Object.fromEntries(Object.keys(all(1)).map((_, i) => [i, { remaining }])),
});

export const INHERIT_CLAIMS: readonly ClaimSteps[] = [
  {
    name: 'additive: used units stay used, regardless of the limit under which they were used',
    policies: all(10),
    options: { inherit: 'additive', tiers },
    steps: [
      [0, take(6), { allowed: true, ...left(4) }],
      [0, (limiter) => limiter.peek('k', { tier: 'more' }), { allowed: true, ...left(14) }],
      [0, peek(), { allowed: true, ...left(4) }],
      [0, take({ cost: 1, tier: 'same' }), { allowed: true, ...left(3) }],
      [0, more(12), { allowed: true, ...left(1) }],
      [0, take(), { allowed: false, ...left(0) }],
      [0, (limiter) => limiter.refund('k', { cost: 10, tier: 'more' }), left(11)],
      [0, take(), { allowed: true, ...left(0) }],
    ],
  },
  {
    name: 'proportional: the used fraction of the limit stays the same',
    policies: all(10),
    options: { inherit: 'proportional', tiers },
    steps: [
      [0, take(6), { allowed: true, ...left(4) }],
      [0, (limiter) => limiter.peek('k', { tier: 'more' }), { allowed: true, ...left(8) }],
      [0, peek(), { allowed: true, ...left(4) }],
      [0, take({ cost: 1, tier: 'same' }), { allowed: true, ...left(3) }],
      [0, more(7), { allowed: false, ...left(6) }],
      [0, more(4), { allowed: true, ...left(2) }],
      [0, take(), { allowed: true, ...left(0) }],
      [0, more(1), { allowed: false, ...left(0) }],
      [0, refund(5), left(5)],
      [0, (limiter) => limiter.peek('k', { tier: 'more' }), left(10)],
    ],
  },
  {
    name: 'as-is: remaining units stay available, but never more than the new limit',
    policies: all(10),
    options: { inherit: 'as-is', tiers },
    steps: [
      [0, take(6), { allowed: true, ...left(4) }],
      [0, (limiter) => limiter.peek('k', { tier: 'more' }), { allowed: true, ...left(4) }],
      [0, peek(), { allowed: true, ...left(4) }],
      [0, take({ cost: 1, tier: 'same' }), { allowed: true, ...left(3) }],
      [0, more(2), { allowed: true, ...left(1) }],
      [0, take(), { allowed: true, ...left(0) }],
      [0, more(1), { allowed: false, ...left(0) }],
      [0, (limiter) => limiter.refund('k', { cost: 15, tier: 'more' }), left(15)],
      [0, peek(), left(10)],
      [0, take(), { allowed: true, ...left(9) }],
      [0, (limiter) => limiter.peek('k', { tier: 'more' }), left(9)],
    ],
  },
  {
    name: 'as-is: a key that is fully replenished under a lower limit may have units missing under a higher limit',
    policies: gcra({ limit: 10, per: '1s' }),
    options: { inherit: 'as-is', tiers: { more: gcra({ limit: 20, per: '1s' }) } },
    steps: [
      [0, more(11), { allowed: true, remaining: 9 }],
      [0, take(), { allowed: true, remaining: 8 }],
      // After 200 ms the key is fully replenished under the limit of 10. Under the limit of 20, it is fully replenished only after
      // 550 ms.
      [200, peek(), { remaining: 10, resetAfter: 0 }],
      [200, refund(5), { remaining: 10 }],
      [549, (limiter) => limiter.peek('k', { tier: 'more' }), { remaining: 10 }],
      [550, (limiter) => limiter.peek('k', { tier: 'more' }), { remaining: 20, resetAfter: 0 }],
    ],
  },
  {
    name: 'an overdraft is inherited when the limit changes',
    policies: all(10),
    options: { inherit: 'proportional', tiers },
    steps: [
      [0, take({ cost: 15, mode: 'always' }), { allowed: false, ...left(0) }],
      [0, (limiter) => limiter.refund('k', { cost: 12, tier: 'more' }), left(2)],
      [0, peek(), left(1)],
    ],
  },
  {
    name: 'reset: a key starts fresh under changed limits, and its state under the previous limits is not affected',
    policies: all(10),
    options: { inherit: 'reset', tiers },
    steps: [
      [0, take(6), { allowed: true, ...left(4) }],
      [0, more(19), { allowed: true, ...left(1) }],
      [0, take({ cost: 1, tier: 'same' }), { allowed: true, ...left(3) }],
      [0, (limiter) => limiter.block('k', '1s'), { allowed: false }],
      [0, more(1), { allowed: false, policy: 'block' }],
      [0, (limiter) => limiter.reset('k'), { allowed: true, ...left(10) }],
      [0, more(20), { allowed: true, ...left(0) }],
      [0, take(10), { allowed: true, ...left(0) }],
    ],
  },
  {
    name: 'additive: used units of a sliding log stay used, and a row that was never charged is fresh under all limits',
    policies: { rate: gcra({ limit: 10, per: '1s' }), log: slidingLog({ limit: 10, per: '1s' }) },
    options: {
      inherit: 'additive',
      tiers: { more: { rate: gcra({ limit: 20, per: '1s' }), log: slidingLog({ limit: 20, per: '1s' }) } },
    },
    steps: [
      [0, refund(3), { remaining: 10 }],
      [0, (limiter) => limiter.block('k', 1), { allowed: false }],
      [1, more(15), { allowed: true, policies: { 0: { remaining: 5 }, 1: { remaining: 5 } } }],
      [1, take(), { allowed: false, policies: { 0: { remaining: 0 }, 1: { remaining: 0 } } }],
      [1, more(5), { allowed: true, policies: { 0: { remaining: 0 }, 1: { remaining: 0 } } }],
    ],
  },
];
