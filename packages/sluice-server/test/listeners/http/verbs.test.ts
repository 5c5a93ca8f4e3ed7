/**
 * Tests the HTTP endpoints other than /v1/take: reservations, releases, lists that are charged all or nothing, and bounded costs.
 */
import { type Decision, memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { openHttp } from '../../../src/listeners/http/http.ts';
import type { ListenerOptions } from '../../../src/listeners/listener.ts';
import { opened } from '../listeners.ts';

const LIMITS = `
limits:
  api: 3/min
  user: 2/min
  paced: 60/min burst 1
  paces: 60/min pacer
  soft: { policies: 1/min, shadow: true }
  calls: { policies: { algorithm: concurrency, limit: 2, lease: 1m } }
  search: { policies: 10/min, overrides: { vip: unlimited, bad: blocked, own: 1/min } }
  model: { policies: { requests: 10/min, tokens: 1000/min } }
domain: edge
descriptors:
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 5 }
  - key: path
    rate_limit: { policies: 5/min pacer }
`;

type Ask = (
  path: string,
  body: unknown,
) => Promise<[status: number, body: Decision & Record<string, unknown>]>;

async function open(
  options: Partial<ListenerOptions> & { requestPolicies?: number; shadow?: boolean } = {},
): Promise<Ask> {
  const { port } = await opened(openHttp, LIMITS, { store: memory({ clock: manualClock() }), ...options });
  return async (path, body) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    });
    return [response.status, (await response.json()) as Decision & Record<string, unknown>];
  };
}

describe('/v1/reserve', () => {
  test('books units in advance, and says how long to wait for them', async () => {
    const ask = await open();
    const paced = { limit: 'paced', key: 'a' };
    expect(await ask('/v1/reserve', paced)).toMatchObject([200, { allowed: true, delay: 0 }]);
    expect(await ask('/v1/reserve', paced)).toMatchObject([200, { allowed: true, delay: 1000, taken: 1 }]);
    expect(await ask('/v1/reserve', { ...paced, maxDelay: '1s' })).toMatchObject([
      200,
      { allowed: false, delay: null, taken: 0 },
    ]);
    expect(await ask('/v1/reserve', { ...paced, maxDelay: '1h' })).toMatchObject([
      400,
      { detail: expect.stringContaining('maxDelay must be at most 60000 ms') },
    ]);
    expect(await ask('/v1/refund', { ...paced, cost: 1 })).toMatchObject([200, { retryAfter: 1000 }]);
    expect(await ask('/v1/reserve', { limit: 'search', key: 'vip' })).toMatchObject([200, { delay: 0 }]);
    expect(await ask('/v1/reserve', { limit: 'search', key: 'bad' })).toMatchObject([200, { delay: null }]);
    expect(await ask('/v1/reserve', { ...paced, maxDelay: true })).toMatchObject([
      400,
      { detail: expect.stringContaining('maxDelay must be a number of milliseconds') },
    ]);
  });

  test('returns a delay of 0 in shadow mode', async () => {
    const ask = await open();
    await ask('/v1/reserve', { limit: 'soft', key: 'a', cost: 1 });
    expect(await ask('/v1/reserve', { limit: 'soft', key: 'a', maxDelay: 1 })).toMatchObject([
      200,
      { allowed: true, shadowed: true, delay: 0 },
    ]);
  });
});

test('/v1/release frees the place that `at` identifies', async () => {
  const ask = await open();
  const call = { limit: 'calls', key: 'a' };
  const [, { at }] = await ask('/v1/take', call);
  await ask('/v1/take', call);
  expect(await ask('/v1/take', call)).toMatchObject([200, { allowed: false }]);
  expect(await ask('/v1/release', { ...call, at })).toMatchObject([200, { remaining: 1 }]);
});

describe('/v1/take-many', () => {
  const items = [
    { limit: 'api', key: 'a' },
    { limit: 'user', key: 'a' },
  ];

  test('charges all items or none, in one step', async () => {
    const ask = await open();
    for (let i = 0; i < 2; i++)
      expect(await ask('/v1/take-many', { items })).toMatchObject([
        200,
        { allowed: true, atomic: true, taken: 2 },
      ]);
    const [status, denied] = await ask('/v1/take-many?status=429', { items });
    expect([status, denied]).toMatchObject([
      429,
      { allowed: false, atomic: true, taken: 0, decisions: [{ allowed: true }, { allowed: false }] },
    ]);
    expect(await ask('/v1/peek', items[0])).toMatchObject([200, { remaining: 1 }]);
  });

  test('obeys overrides: an unlimited key never causes a denial, and a blocked key always does', async () => {
    const ask = await open();
    const vip = { limit: 'search', key: 'vip' };
    expect(await ask('/v1/take-many', { items: [vip, items[0]] })).toMatchObject([
      200,
      { allowed: true, atomic: true, taken: 2, decisions: [{ policy: 'unlimited' }, { remaining: 2 }] },
    ]);
    expect(await ask('/v1/take-many', { items: [vip] })).toMatchObject([200, { allowed: true, taken: 1 }]);
    expect(await ask('/v1/take-many', { items: [items[0], { limit: 'search', key: 'bad' }] })).toMatchObject([
      200,
      {
        allowed: false,
        policy: 'blocked',
        taken: 0,
        decisions: [{ allowed: true, taken: 0 }, { allowed: false }],
      },
    ]);
    const own = { limit: 'search', key: 'own' };
    await ask('/v1/take', own);
    expect(await ask('/v1/take-many', { items: [items[0], own] })).toMatchObject([200, { allowed: false }]);
    expect(await ask('/v1/peek', items[0])).toMatchObject([200, { remaining: 2 }]);
  });

  test('allows the list if only limits in shadow mode would deny it', async () => {
    const ask = await open();
    const soft = { limit: 'soft', key: 'a' };
    expect(await ask('/v1/take-many', { items: [soft] })).toMatchObject([200, { allowed: true }]);
    expect(await ask('/v1/take-many', { items: [soft, items[0]] })).toMatchObject([
      200,
      { allowed: true, atomic: false, decisions: [{ shadowed: true }, { remaining: 2 }] },
    ]);
    const lenient = await open({ shadow: true });
    for (let i = 0; i < 3; i++) await lenient('/v1/take-many', { items });
    expect(await lenient('/v1/take-many', { items })).toMatchObject([200, { allowed: true, shadowed: true }]);
  });

  test.each([
    [{}, /object with a non-empty list/],
    [[], /object with a non-empty list/],
    [null, /object with a non-empty list/],
    [{ items: [] }, /object with a non-empty list/],
    [{ items, mode: 'always' }, /object with a non-empty list/],
    [{ items: [items[0], 5] }, /1 of 2 operations are invalid/],
    [{ items: [items[0], { limit: 'none', key: 'a' }] }, /1 of 2 operations are invalid/],
    [{ items: [items[0], { limit: 'api', key: 'a', mode: 'always' }] }, /1 of 2 operations are invalid/],
    [{ items: [items[0], { limit: 'paces', key: 'a', cost: 61 }] }, /1 of 2 operations are invalid/],
  ])('rejects an invalid body and charges nothing: %j', async (body, detail) => {
    const ask = await open();
    expect(await ask('/v1/take-many', body)).toMatchObject([400, { detail: expect.stringMatching(detail) }]);
    expect(await ask('/v1/peek', items[0])).toMatchObject([200, { remaining: 3 }]);
  });

  test('rejects more than 100 items', async () => {
    const ask = await open();
    expect(await ask('/v1/take-many', { items: Array(101).fill(items[0]) })).toMatchObject([413, {}]);
  });
});

describe('costs', () => {
  test('are bounded, so a refund cannot reset a key, and a settlement or a take cannot deny it for long', async () => {
    const ask = await open();
    const key = { limit: 'api', key: 'a' };
    for (let i = 0; i < 3; i++) await ask('/v1/take', key);
    for (const [path, body] of [
      ['/v1/refund', { cost: 4 }],
      ['/v1/refund', { cost: 2 ** 53 }],
      ['/v1/release', { cost: 4 }],
      ['/v1/settle', { charged: 4, used: 0 }],
    ] as const)
      expect([path, await ask(path, { ...key, ...body })]).toMatchObject([
        path,
        [
          400,
          { code: 'ERR_COST', detail: expect.stringContaining('must be at most 3, the limit of policy') },
        ],
      ]);
    expect(await ask('/v1/peek', key)).toMatchObject([200, { remaining: 0, retryAfter: 20_000 }]);
    for (let i = 0; i < 20; i++) {
      await ask('/v1/settle', { ...key, charged: 0, used: 2 ** 53 });
      await ask('/v1/take', { ...key, cost: 2 ** 53, mode: 'always' });
    }
    const [, { retryAfter }] = await ask('/v1/peek', key);
    expect(retryAfter).toBeLessThanOrEqual(150_000);
    expect(await ask('/v1/take', { limit: 'paces', key: 'a', cost: 61 })).toMatchObject([400, {}]);
  });

  test('that are invalid in one operation of a list make the server reject the whole list', async () => {
    const ask = await open();
    const key = { limit: 'model', key: 'a' };
    await ask('/v1/take', { ...key, cost: { tokens: 500 } });
    const list = [
      { ...key, cost: { tokens: 100 } },
      { ...key, cost: { tokens: 1001 } },
    ];
    expect(await ask('/v1/refund', list)).toMatchObject([
      400,
      { errors: [{ index: 1, code: 'ERR_COST', detail: expect.stringContaining('policy "tokens"') }] },
    ]);
    expect(await ask('/v1/take', [key, { ...key, cost: { tokns: 1 } }])).toMatchObject([400, {}]);
    expect(await ask('/v1/peek', key)).toMatchObject([
      200,
      { policies: [{ remaining: 9 }, { remaining: 500 }] },
    ]);
  });

  test("that are too high in Envoy's descriptors are denied instead of rejected as errors, because Envoy lets requests pass on errors", async () => {
    const ask = await open();
    const hits = (key: string, hitsAddend: number, isNegativeHits = false) =>
      ask('/json', {
        domain: 'edge',
        descriptors: [{ entries: [{ key, value: 'x' }], hitsAddend, isNegativeHits }],
      });
    expect(await hits('ip', 2 ** 40)).toMatchObject([429, { overallCode: 'OVER_LIMIT' }]);
    expect(await hits('path', 6)).toMatchObject([429, { overallCode: 'OVER_LIMIT' }]);
    expect(await hits('path', 5)).toMatchObject([200, { overallCode: 'OK' }]);
    // A refund gives back at most the limit, so the overdrawn window stays exhausted.
    expect(await hits('ip', 2 ** 40, true)).toMatchObject([200, { overallCode: 'OK' }]);
    expect(await hits('ip', 1)).toMatchObject([429, { overallCode: 'OVER_LIMIT' }]);
  });
});

describe('policies in a request', () => {
  const take = { policies: '2/min', key: 'a' };

  test('are refused by default', async () => {
    const ask = await open();
    expect(await ask('/v1/take', take)).toMatchObject([
      403,
      { detail: expect.stringContaining('start the server with --request-policies') },
    ]);
  });

  test('work like a limit in the configuration, for all verbs except those for admins', async () => {
    const ask = await open({ requestPolicies: 2 });
    await ask('/v1/take', take);
    const [, { at }] = await ask('/v1/take', take);
    expect(await ask('/v1/take?status=429', take)).toMatchObject([429, { allowed: false }]);
    expect(await ask('/v1/settle', { ...take, charged: 1, used: 0, at })).toMatchObject([
      200,
      { remaining: 1 },
    ]);
    expect(await ask('/v1/refund', take)).toMatchObject([200, { remaining: 2 }]);
    expect(await ask('/v1/reserve', take)).toMatchObject([200, { delay: 0 }]);
    expect(await ask('/v1/take-many', { items: [take, { limit: 'api', key: 'a' }] })).toMatchObject([
      200,
      { allowed: true, atomic: true },
    ]);
    expect(await ask('/v1/take', { ...take, policies: '5/s & 100/h' })).toMatchObject([
      200,
      { allowed: true },
    ]);
    expect(await ask('/v1/take', { ...take, policies: '7/s' })).toMatchObject([
      503,
      { detail: expect.stringContaining('at most 2 different policies') },
    ]);
    for (const [body, detail] of [
      [{ ...take, policies: 'two a minute' }, 'ERR_POLICY_TEXT'],
      [{ ...take, policies: 5 }, 'policies must be a string'],
      [{ ...take, limit: 'api' }, 'limit and policies must not be given together'],
    ] as const)
      expect(await ask('/v1/take', body)).toMatchObject([400, { detail: expect.stringContaining(detail) }]);
  });
});
