/** Claims about costs by policy, settling, and units that are kept free. */
import { type ClaimSteps, denied, peek, settle, take, takeRemembered } from './steps.ts';

export const COST_CLAIMS: readonly ClaimSteps[] = [
  {
    name: 'each policy is charged its own cost, and either all policies are charged or none',
    policies: { requests: '10/s', tokens: '1000/s fixed-window', log: '5/s sliding-log' },
    steps: [
      [
        0,
        take({ cost: { tokens: 400, log: 0 } }),
        {
          allowed: true,
          taken: 400,
          policies: { 0: { taken: 1 }, 1: { taken: 400, remaining: 600 }, 2: { taken: 0 } },
        },
      ],
      [
        0,
        take({ cost: { requests: 2, tokens: 700 } }),
        {
          ...denied(1000, 600),
          policy: 'tokens',
          policies: { 0: { remaining: 9, taken: 0 }, 2: { remaining: 5 } },
        },
      ],
      [
        0,
        take({ cost: { requests: 3, tokens: 800, log: 0 }, mode: 'always' }),
        {
          allowed: false,
          taken: 800,
          policies: { 0: { taken: 3, remaining: 6 }, 1: { taken: 800 }, 2: { taken: 0 } },
        },
      ],
    ],
  },
  {
    name: 'settle charges units that were used beyond the charge, and gives back only unused units of that charge',
    policies: { requests: '10/s', tokens: '1000/s fixed-window', log: '500/s sliding-log' },
    steps: [
      [0, takeRemembered('first', { cost: { tokens: 400, log: 300 } }), { allowed: true }],
      [100, take({ cost: { tokens: 100, log: 100 } }), { allowed: true }],
      [
        200,
        settle('first', { tokens: 150, log: 350 }),
        { allowed: true, policies: { 1: { remaining: 750 }, 2: { remaining: 50, taken: 50 } } },
      ],
      [900, peek({ cost: { log: 51 } }), { allowed: false, retryAfter: 100 }],
      // The window in which the first charge was made is over, so none of that charge is given back.
      [1050, take({ cost: { tokens: 200, log: 0 } }), { allowed: true, policies: { 1: { remaining: 800 } } }],
      [
        1050,
        settle('first', { tokens: 0, log: 0 }),
        { policies: { 1: { remaining: 800 }, 2: { remaining: 350 } } },
      ],
    ],
  },
  {
    name: 'a take with keep leaves units free for other calls, and its denial announces when enough units will be free',
    policies: { rate: '10/s', log: '10/s sliding-log' },
    steps: [
      [0, take({ cost: 7, keep: 0.3 }), { allowed: true, taken: 7, remaining: 3 }],
      [0, take({ keep: 0.3 }), { ...denied(1000, 3), policy: 'log', policies: { 0: { retryAfter: 100 } } }],
      [0, take({ keep: { rate: 3 } }), { allowed: false, retryAfter: 100, policy: 'rate' }],
      [100, take({ keep: { rate: 3 } }), { allowed: true, remaining: 2 }],
      [100, take({ cost: 2 }), { allowed: true, remaining: 0 }],
      [100, take({ cost: 9, mode: 'partial', keep: 2 }), { allowed: false, taken: 0 }],
      [1100, take({ cost: 9, mode: 'partial', keep: 2 }), { allowed: true, taken: 8, remaining: 2 }],
    ],
  },
];
