/** Claims about each verb and mode, and about unusual keys. */
import { fixedWindow, gcra, leakyBucket, pacer, penalty, slidingLog } from '../index.ts';
import { type ClaimSteps, denied, peek, refund, type Step, take } from './steps.ts';

export const VERB_CLAIMS: readonly ClaimSteps[] = [
  {
    name: 'several policies are charged all or nothing, and the decision names the policy that denied',
    policies: { second: gcra({ limit: 2, per: '1s' }), day: fixedWindow({ limit: 3, per: '1d' }) },
    steps: [
      [
        0,
        take(2),
        { allowed: true, policy: 'second', remaining: 0, policies: { 1: { name: 'day', remaining: 1 } } },
      ],
      [0, take(), { ...denied(500), policy: 'second', policies: { 1: { remaining: 1, retryAfter: 0 } } }],
      [1000, take(2), { ...denied(86_399_000, 1), policy: 'day', policies: { 0: { remaining: 2 } } }],
      [1000, take(), { allowed: true, policy: 'day', remaining: 0 }],
    ],
  },
  {
    name: 'partial mode takes as many units as are available',
    policies: '5/s',
    steps: [
      [0, take({ cost: 3, mode: 'partial' }), { allowed: true, taken: 3, remaining: 2 }],
      [0, take({ cost: 3, mode: 'partial' }), { allowed: true, taken: 2, remaining: 0, retryAfter: 0 }],
      [0, take({ cost: 3, mode: 'partial' }), { allowed: false, taken: 0, retryAfter: 200 }],
      [1000, take({ cost: 9, mode: 'partial' }), { allowed: true, taken: 5 }],
      [1500, take({ cost: 3, mode: 'partial' }), { allowed: true, taken: 2 }],
      [2500, take({ cost: 2.5, mode: 'partial' }), { allowed: true, taken: 2.5 }],
    ],
  },
  {
    name: 'in partial mode, the policy with the fewest available units decides how many units are taken',
    policies: { few: '5/s', many: '10/s fixed-window' },
    steps: [
      [0, take({ cost: 8, mode: 'partial' }), { allowed: true, taken: 5, policies: { 1: { remaining: 5 } } }],
      [0, take({ cost: 8, mode: 'partial' }), { allowed: false, taken: 0, policy: 'few' }],
    ],
  },
  {
    name: 'always mode counts denied attempts as well as allowed ones',
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
    name: 'a refund never gives back more than was taken',
    policies: {
      rate: '5/s',
      log: '5/s sliding-log',
      window: '5/s fixed-window',
      leaky: leakyBucket({ size: 5 }),
    },
    steps: [
      [0, take(4), { allowed: true, remaining: 1 }],
      [
        0,
        refund(2),
        { remaining: 3, policies: { 0: { remaining: 3 }, 1: { remaining: 3 }, 3: { remaining: 3 } } },
      ],
      [0, refund(100), { allowed: true, remaining: 5 }],
      [0, take(6), denied(Infinity, 5)],
      [0, (limiter) => limiter.refund('never seen', 3), { remaining: 5 }],
      [0, (limiter) => limiter.take('never seen', 6), { allowed: false, remaining: 5 }],
    ],
  },
  {
    name: 'a refund to a key without state does not create state',
    policies: pacer({ limit: 10, per: '1s', maxBurst: 3 }),
    steps: [
      [5000, refund(2), { allowed: true }],
      [5000, (limiter) => limiter.release('k'), { allowed: true }],
      [3000, take(), { allowed: true, taken: 1, resetAfter: 100 }],
    ],
  },
  {
    name: 'reserve books a future turn or charges nothing, and canceling a turn twice gives the turn back only once',
    policies: gcra({ limit: 10, per: '1s', burst: 1 }),
    steps: [
      [0, (limiter) => limiter.reserve('k'), { delay: 0, decision: { allowed: true, taken: 1 } }],
      [
        0,
        (limiter) => limiter.reserve('k'),
        { delay: 100, decision: { allowed: true, taken: 1, retryAfter: 0 } },
      ],
      [
        0,
        (limiter) => limiter.reserve('k', { maxDelay: 150 }),
        { delay: Infinity, decision: { allowed: false, taken: 0 } },
      ],
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
    name: 'a turn in a later window cannot be booked',
    policies: fixedWindow({ limit: 1, per: '1s' }),
    steps: [
      [0, (limiter) => limiter.reserve('k'), { delay: 0 }],
      [0, (limiter) => limiter.reserve('k'), { delay: Infinity, decision: { taken: 0, retryAfter: 1000 } }],
      [1000, take(), { allowed: true }],
    ],
  },
  {
    name: 'a manual block denies the key until the block ends, and a reset ends the block and makes the key fresh',
    policies: '5/s',
    steps: [
      [
        0,
        (limiter) => limiter.block('k', '10s'),
        { allowed: false, remaining: 0, retryAfter: 10_000, policy: 'block' },
      ],
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
    name: 'unblock ends a manual block in every tier, and used units stay used',
    policies: '5/h fixed-window',
    steps: [
      [0, take(3), { allowed: true, remaining: 2 }],
      [0, (limiter) => limiter.unblock('k'), { allowed: true, taken: 0, remaining: 2 }],
      [0, (limiter) => limiter.block('k', '10s'), { allowed: false, policy: 'block' }],
      [1, take({ tier: 'pro' }), { allowed: false, policy: 'block' }],
      [1, (limiter) => limiter.unblock('k'), { allowed: true, taken: 0, remaining: 2, policy: 'default' }],
      [1, take({ tier: 'pro' }), { allowed: true }],
      [1, take(2), { allowed: true, remaining: 0 }],
      [1, (limiter) => limiter.block('k', '10s'), { allowed: false }],
      [1, (limiter) => limiter.unblock('k'), { allowed: false, remaining: 0, policy: 'default' }],
      [1, (limiter) => limiter.unblock('unknown'), { allowed: true, remaining: 5 }],
    ],
  },
  {
    name: 'the retryAfter of a manually blocked key is the remaining time of the block or the wait for the policies, whichever is longer',
    policies: '1/h',
    steps: [
      [
        0,
        (limiter) => limiter.block('new', '10s'),
        { retryAfter: 10_000, resetAfter: 10_000, policy: 'block' },
      ],
      [0, take(), { allowed: true }],
      [
        0,
        (limiter) => limiter.block('k', '10s'),
        { allowed: false, retryAfter: 3_600_000, policy: 'default' },
      ],
      [0, take(), { allowed: false, retryAfter: 3_600_000, policy: 'default' }],
    ],
  },
  {
    name: 'attempts during a manual block do not count as strikes',
    policies: { rate: '1/s', lockout: penalty({ after: 2, within: '1h', block: '1h' }) },
    steps: [
      [0, (limiter) => limiter.block('k', '5s'), { allowed: false }],
      [1, take(), { allowed: false, policy: 'block' }],
      [2, take(), { allowed: false, policy: 'block' }],
      [3, take(), { allowed: false, policy: 'block' }],
      [5000, take(), { allowed: true }],
    ],
  },
  {
    name: 'a take with a cost of 0 charges nothing',
    policies: '5/s',
    steps: [
      [0, take(0), { allowed: true, taken: 0, remaining: 5 }],
      [0, take(5), { allowed: true }],
      [0, take(0), { allowed: true, taken: 0, remaining: 0 }],
    ],
  },
  {
    name: 'a tier has its own limit, and units that were used in another tier count toward it',
    policies: '10/s',
    steps: [
      [0, take(10), { allowed: true, remaining: 0 }],
      [0, take({ tier: 'pro', cost: 91 }), { allowed: false, limit: 100, remaining: 90, retryAfter: 10 }],
      [0, take({ tier: 'pro', cost: 50 }), { allowed: true, limit: 100, remaining: 40 }],
      // The default tier allows 10 units, and 60 were used. 51 units must come back, one every 100 ms.
      [0, take(), { allowed: false, retryAfter: 5100 }],
      // The last charge was made in the tier 'pro', where 50 of the 60 used units have come back. 10 units are still used, so one
      // more must come back.
      [500, take(), { allowed: false, retryAfter: 100 }],
    ],
  },
  {
    name: 'tiers with different policies share the counts of the policies that they have in common',
    policies: '10/day fixed-window',
    options: { tiers: { pro: { second: '5/s', day: '20/day fixed-window', jobs: '30/day sliding-log' } } },
    steps: [
      [0, take(10), { allowed: true, remaining: 0 }],
      [0, take({ tier: 'pro', cost: 6 }), { allowed: false, policy: 'second' }],
      [0, take({ tier: 'pro', cost: 5 }), { allowed: true, policies: { 1: { remaining: 5 } } }],
      [0, take(), { allowed: false, limit: 10, remaining: 0 }],
      [1000, take({ tier: 'pro', cost: 5 }), { allowed: true, policies: { 1: { remaining: 0 } } }],
      [2000, take({ tier: 'pro' }), { allowed: false, policy: 'day' }],
      [2000, (limiter) => limiter.refund('k', 3), { allowed: false, limit: 10, remaining: 0 }],
      [
        2000,
        take({ tier: 'pro', cost: 3 }),
        { allowed: true, policies: { 1: { remaining: 0 }, 2: { remaining: 17 } } },
      ],
      [2000, (limiter) => limiter.reset('k'), { remaining: 10 }],
      [
        2000,
        take({ tier: 'pro', cost: 5 }),
        { allowed: true, policies: { 1: { remaining: 15 }, 2: { remaining: 25 } } },
      ],
    ],
  },
  {
    name: 'a manual block applies to tiers with different algorithms, and a peek in one of these tiers changes nothing',
    policies: '10/s',
    steps: [
      [0, take(4), { allowed: true, remaining: 6 }],
      [0, (limiter) => limiter.peek('k', { tier: 'log' }), { allowed: true, remaining: 3 }],
      [0, peek(), { allowed: true, remaining: 6 }],
      [0, (limiter) => limiter.block('k', '5s'), { allowed: false }],
      [0, take({ tier: 'log' }), { allowed: false, policy: 'block' }],
      [0, take({ tier: 'pro' }), { allowed: false, policy: 'block' }],
      [4999, take({ tier: 'log' }), { allowed: false, retryAfter: 1 }],
      [5000, take({ tier: 'log' }), { allowed: true, remaining: 2 }],
      [5000, (limiter) => limiter.block('k', '5s'), { allowed: false }],
      [5000, take(), { allowed: false, policy: 'block' }],
    ],
  },
  {
    name: 'takeMany charges all of its keys or none',
    policies: '3/s',
    steps: [
      [
        0,
        (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'user', cost: 2 }]),
        { allowed: true, taken: 3, remaining: 1 },
      ],
      [
        0,
        (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'user', cost: 2 }]),
        { allowed: false, taken: 0 },
      ],
      [0, (limiter) => limiter.peek('ip'), { remaining: 2 }],
      [0, (limiter) => limiter.takeMany([{ key: 'ip' }, { key: 'ip' }]), { allowed: true, remaining: 0 }],
      [
        0,
        (limiter) =>
          limiter.takeMany([
            { key: 'x', cost: 2 },
            { key: 'x', cost: 2 },
          ]),
        { allowed: false },
      ],
      [0, (limiter) => limiter.peek('x'), { remaining: 3 }],
    ],
  },
  {
    name: 'a clock that goes back creates no units, and extends denials by at most the size of the jump',
    policies: {
      a: '2/s',
      b: '2/s sliding-log',
      c: '2/s fixed-window',
      d: leakyBucket({ size: 2, dripRate: 500 }),
      e: '2/s sliding-window',
    },
    steps: [
      [60_000, take(2), { allowed: true, remaining: 0 }],
      [50_000, take(), { allowed: false, remaining: 0 }],
      [61_500, take(), { allowed: true }],
    ],
  },
  {
    name: 'unusual keys work like any other key',
    policies: '1/s',
    steps: [
      '',
      '__proto__',
      'constructor',
      '{a}{b}',
      '{a}',
      'a\nb',
      'a\0',
      'a',
      '🚰',
      '\ud83d',
      '\ude00',
      'x'.repeat(1_000_000),
    ].flatMap((key): Step[] => [
      [0, (limiter) => limiter.take(key), { allowed: true }],
      [0, (limiter) => limiter.take(key), { allowed: false }],
    ]),
  },
];
