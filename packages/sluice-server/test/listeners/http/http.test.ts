import { memory, StoreUnavailable } from 'sluice';
import { limitedFetch } from 'sluice/http';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { openHttp } from '../../../src/listeners/http/http.ts';
import { routesOf } from '../../../src/listeners/http/routes.ts';
import { createLog } from '../../../src/log.ts';
import { later, opened } from '../listeners.ts';
import { serving, type Serving } from '../../serving.ts';

const LIMITS = `
limits:
  api: 3/h
  search:
    policies: 2/h
    tiers: { pro: 10/h }
    overrides: { vip: unlimited, bad: blocked, 'team-*': { tier: pro }, own: 5/h }
  soft: { policies: 1/h, shadow: true }
  counted: { policies: 2/h fixed-window, mode: always }
domain: edge
descriptors:
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: open
    rate_limit: { unlimited: true }
`;

async function answer(response: Promise<Response>): Promise<[status: number, body: Record<string, unknown>]> {
  const got = await response;
  return [got.status, (await got.json()) as Record<string, unknown>];
}

describe('the endpoints take, peek, refund, block and reset', () => {
  test('respond with the decision, and a denial has status 200 unless status=429 is requested', async () => {
    const { post } = await serving(LIMITS);
    const operation = { limit: 'api', key: 'ann', cost: 2 };
    expect(await answer(post('/v1/take', operation))).toEqual([
      200,
      expect.objectContaining({ allowed: true, taken: 2, limit: 3, remaining: 1, policy: 'default' }),
    ]);
    expect(await answer(post('/v1/peek', operation))).toMatchObject([200, { allowed: false, taken: 0 }]);
    expect(await answer(post('/v1/take', operation))).toMatchObject([200, { allowed: false, taken: 0 }]);
    expect(await answer(post('/v1/take?status=429', operation))).toMatchObject([429, { allowed: false }]);
    expect(await answer(post('/v1/refund', operation))).toMatchObject([200, { remaining: 3 }]);
    expect(await answer(post('/v1/take', { limit: 'api', key: 'ann', cost: 9 }))).toMatchObject([
      200,
      { allowed: false, retryAfter: null },
    ]);
    expect(
      await answer(post('/v1/take', { limit: 'api', key: 'ann', cost: 9, mode: 'partial' })),
    ).toMatchObject([200, { allowed: true, taken: 3 }]);
  });

  test('add RateLimit headers to the response to a single take, but not to a peek or a list', async () => {
    const { post } = await serving(LIMITS);
    const operation = { limit: 'api', key: 'ann', cost: 3 };
    const { headers } = await post('/v1/take', operation);
    expect(headers.get('ratelimit-policy')).toBe('"default";q=3;w=3600');
    expect(headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(headers.get('retry-after')).toBeNull();
    expect(Number((await post('/v1/take', operation)).headers.get('retry-after'))).toBeGreaterThan(3590);
    expect((await post('/v1/peek', operation)).headers.get('ratelimit')).toBeNull();
    expect((await post('/v1/take', [operation])).headers.get('ratelimit')).toBeNull();
  });

  test('deny a blocked key until it is reset', async () => {
    const { post } = await serving(LIMITS, { adminWithoutToken: true });
    const operation = { limit: 'api', key: 'ann' };
    await post('/v1/block', { ...operation, duration: '10m' });
    expect(await answer(post('/v1/take', operation))).toMatchObject([
      200,
      { allowed: false, policy: 'block' },
    ]);
    await post('/v1/reset', operation);
    expect(await answer(post('/v1/take', operation))).toMatchObject([200, { allowed: true, remaining: 2 }]);
  });

  test('apply the configured tiers, overrides, `mode` and `shadow`', async () => {
    const { post } = await serving(LIMITS);
    const limitOf = async (key: string, more = {}) =>
      (await answer(post('/v1/take', { limit: 'search', key, ...more })))[1]['limit'];
    expect(await limitOf('ann')).toBe(2);
    expect(await limitOf('ann', { tier: 'pro' })).toBe(10);
    expect(await limitOf('team-7')).toBe(10);
    expect(await limitOf('own')).toBe(5);
    expect(await limitOf('own', { tier: 'pro' })).toBe(5);
    expect(await limitOf('vip')).toBe(null);
    expect(await limitOf('bad')).toBe(0);
    await post('/v1/take', { limit: 'soft', key: 'ann' });
    expect(await answer(post('/v1/take', { limit: 'soft', key: 'ann' }))).toMatchObject([
      200,
      { allowed: true, shadowed: true, retryAfter: 0 },
    ]);
    await post('/v1/take', { limit: 'counted', key: 'ann', cost: 3 });
    expect(await answer(post('/v1/peek', { limit: 'counted', key: 'ann' }))).toMatchObject([
      200,
      { allowed: false },
    ]);
  });

  test('work with overrides and tiers, and a reset clears the state of both', async () => {
    const { post } = await serving(
      'limits: { a: { policies: 2/h, tiers: { t: 2/h fixed-window }, overrides: { own: 2/h sliding-log } } }',
      { adminWithoutToken: true },
    );
    for (const operation of [{ key: 'own' }, { key: 'x', tier: 't' }]) {
      await post('/v1/take', { limit: 'a', ...operation, cost: 2 });
      await post('/v1/reset', { limit: 'a', key: operation.key });
      expect(await answer(post('/v1/take', { limit: 'a', ...operation }))).toMatchObject([
        200,
        { allowed: true },
      ]);
    }
  });
});

describe('costs by policy', () => {
  const MODEL = `
limits:
  model:
    policies: { requests: 10/h fixed-window, tokens: 1000/h fixed-window }
    tiers: { pro: { requests: 20/h fixed-window, tokens: 5000/h fixed-window } }
    classes: { batch: { keep: 0.3 }, bulk: { keep: { tokens: 900 } } }
    overrides: { vip: unlimited, own: { tier: pro }, payer: { policies: { dollars: 9/h fixed-window } } }
  log: 5/10min sliding-log
`;
  const operation = { limit: 'model', key: 'ann' };
  type Body = { allowed: boolean; taken: number; at?: number; policies: Record<string, unknown>[] };

  async function model(clock = manualClock(1e12)) {
    const { port } = await opened(openHttp, MODEL, { store: memory({ clock }) });
    const post = (path: string, body: object) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: JSON.stringify(body) });
    const ask = async (verb: string, more: object = {}) => {
      const [status, body] = await answer(post(`/v1/${verb}`, { ...operation, ...more }));
      expect(status, JSON.stringify(body)).toBe(200);
      return body as unknown as Body;
    };
    const left = async (more: object = {}) =>
      (await ask('peek', { cost: 0, ...more })).policies.map(({ remaining }) => remaining);
    return { ask, left, clock };
  }

  test('are charged to each policy, and the response shows what each policy was charged and when', async () => {
    const { ask, left } = await model();
    const taken = await ask('take', { cost: { requests: 2, tokens: 420 } });
    expect(taken).toMatchObject({ allowed: true, taken: 420, at: 1e12 });
    expect(taken.policies.map((state) => state['taken'])).toEqual([2, 420]);
    expect(await left()).toEqual([8, 580]);
    expect(await ask('peek', { cost: { tokens: 581 } })).toMatchObject({ allowed: false, policy: 'tokens' });
    expect(await ask('take', { cost: { tokens: 581 } })).toMatchObject({ allowed: false, taken: 0 });
    await ask('take', { cost: { tokens: 80 } });
    expect(await left()).toEqual([7, 500]);
    await ask('refund', { cost: { tokens: 300 } });
    expect(await left()).toEqual([7, 800]);
  });

  test('apply to tiers and overrides', async () => {
    const { ask, left } = await model();
    await ask('take', { tier: 'pro', cost: { tokens: 3000 } });
    expect(await left({ tier: 'pro' })).toEqual([19, 2000]);
    await ask('take', { key: 'own', cost: { tokens: 3000 } });
    expect(await left({ key: 'own' })).toEqual([19, 2000]);
    expect(await ask('take', { key: 'vip', cost: { requests: 1, tokens: 3e6 } })).toMatchObject({
      allowed: true,
      taken: 3e6,
    });
  });

  test.each([
    ['a fraction of the limit', { keep: 0.3 }, 7],
    ['a number of units', { keep: 4 }, 6],
    ['a number of units for one policy', { keep: { requests: 8 } }, 2],
    ['a class', { class: 'batch' }, 7],
  ])(
    'are not charged if the take would leave fewer units than it must keep free: %s',
    async (_, options, most) => {
      const { ask } = await model();
      for (let i = 0; i < most; i++) expect(await ask('take', options)).toMatchObject({ allowed: true });
      expect(await ask('peek', options)).toMatchObject({ allowed: false });
      expect(await ask('take', options)).toMatchObject({ allowed: false, policy: 'requests' });
      expect(await ask('take')).toMatchObject({ allowed: true });
    },
  );

  test('are limited by the units that a class keeps free for each policy', async () => {
    const { ask } = await model();
    expect(await ask('take', { class: 'bulk', cost: { tokens: 101 } })).toMatchObject({ allowed: false });
    expect(await ask('take', { class: 'bulk', cost: { tokens: 100 } })).toMatchObject({ allowed: true });
  });

  test('are settled for each policy with /v1/settle, even beyond the limit', async () => {
    const { ask, left } = await model();
    const { at } = await ask('take', { cost: { requests: 1, tokens: 400 } });
    const charged = { requests: 1, tokens: 400 };
    await ask('settle', { charged, used: { tokens: 150 }, at });
    expect(await left()).toEqual([9, 850]);
    await ask('settle', { charged: 0, used: { tokens: 2000 } });
    expect(await left()).toEqual([9, 0]);
    expect(await ask('settle', { key: 'vip', charged: 1, used: 2 })).toMatchObject({
      allowed: true,
      taken: 0,
    });
    await ask('take', { key: 'payer', cost: { dollars: 5 } });
    await ask('settle', { key: 'payer', charged: { dollars: 5 }, used: { dollars: 2 } });
    expect(await left({ key: 'payer' })).toEqual([7]);
  });

  test('are refunded for the charge that `at` identifies, not for the oldest charge', async () => {
    const { ask, clock } = await model();
    const log = { limit: 'log' };
    await ask('take', { ...log, cost: 4 });
    for (let minute = 0; minute < 12; minute++) {
      const { at } = await ask('take', log);
      await ask('refund', { ...log, at });
      clock.advance(60_000);
    }
    expect(await ask('peek', log)).toMatchObject({ remaining: 5 });
  });
});

describe('a list of operations', () => {
  test('is answered in order', async () => {
    const { post } = await serving(LIMITS);
    const list = ['a', 'b', 'a', 'a', 'a'].map((key) => ({ limit: 'api', key }));
    const [status, body] = await answer(post('/v1/take', list));
    expect(status).toBe(200);
    expect((body as unknown as { remaining: number }[]).map(({ remaining }) => remaining)).toEqual([
      2, 2, 1, 0, 0,
    ]);
    expect(await answer(post('/v1/take', []))).toEqual([200, []]);
  });

  test('with one invalid operation is rejected and charges nothing', async () => {
    const { post } = await serving(LIMITS);
    const good = { limit: 'api', key: 'a' };
    const [status, body] = await answer(
      post('/v1/take', [good, { limit: 'none', key: 'a' }, { limit: 'api' }]),
    );
    expect(status).toBe(400);
    expect(body).toMatchObject({
      detail: '2 of 3 operations are invalid',
      errors: [
        { index: 1, type: 'urn:sluice:unknown-limit' },
        { index: 2, type: 'urn:sluice:bad-request', detail: 'key must be a string; got undefined' },
      ],
    });
    expect(await answer(post('/v1/peek', good))).toMatchObject([200, { remaining: 3 }]);
  });

  test('of more than a thousand operations is rejected', async () => {
    const { post } = await serving(LIMITS);
    const list = Array.from({ length: 1001 }, () => ({ limit: 'api', key: 'a' }));
    expect(await answer(post('/v1/take', list))).toMatchObject([413, { type: 'urn:sluice:too-large' }]);
  });
});

describe('other endpoints:', () => {
  const ip = (value: string) => ({ entries: [{ key: 'ip', value }] });

  test("/json responds with 200 and then 429, in protobuf's JSON format", async () => {
    const { post } = await serving(LIMITS);
    const ask = (more = {}) =>
      answer(post('/json', { domain: 'edge', descriptors: [ip('1.1.1.1')], ...more }));
    const limit = { requestsPerUnit: 2, unit: 'HOUR' };
    const durationUntilReset = expect.stringMatching(/^\d+s$/);
    expect(await ask()).toEqual([
      200,
      {
        overallCode: 'OK',
        statuses: [{ code: 'OK', currentLimit: limit, limitRemaining: 1, durationUntilReset }],
      },
    ]);
    expect(await ask({ hits_addend: 2 })).toEqual([
      429,
      {
        overallCode: 'OVER_LIMIT',
        statuses: [{ code: 'OVER_LIMIT', currentLimit: limit, durationUntilReset }],
      },
    ]);
  });

  test('/json accepts limits, hits per descriptor and numbers as strings', async () => {
    const { post } = await serving(LIMITS);
    const descriptor = { ...ip('1'), limit: { requests_per_unit: 3, unit: 'DAY' }, hitsAddend: '2' };
    const [, body] = await answer(
      post('/json', { domain: 'edge', descriptors: [descriptor, { entries: [{ key: 'open' }] }] }),
    );
    expect(body).toMatchObject({
      statuses: [
        { code: 'OK', currentLimit: { requestsPerUnit: 3, unit: 'DAY' }, limitRemaining: 1 },
        { code: 'OK', limitRemaining: 4294967295 },
      ],
    });
  });

  test('GET requests to /healthcheck, /rlconfig, /metrics, /v1/limits and / are answered', async () => {
    const { url } = await serving(LIMITS);
    const read = async (path: string) => (await fetch(url + path)).text();
    expect(await read('/healthcheck')).toBe('OK');
    expect(await read('/rlconfig')).toContain('edge.ip: unit=HOUR requests_per_unit=2, shadow_mode: false');
    expect(await read('/metrics')).toContain('sluice_store_up 1');
    expect(JSON.parse(await read('/v1/limits'))).toHaveLength(4);
    expect(await read('/')).toContain('Sluice');
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });

  test('the OpenAPI document lists exactly the existing paths', async () => {
    const { url, core } = await serving(LIMITS, { adminWithoutToken: true });
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
    // This path exists only with --remote; the tests of remote stores call it.
    delete document.paths['/v1/hits'];
    for (const [path, methods] of Object.entries(document.paths)) {
      const [method = ''] = Object.keys(methods);
      const response = await fetch(url + path, { method, ...(method === 'post' && { body: '{}' }) });
      // A request without its body or its query is invalid.
      const needsInput = method === 'post' || path === '/v1/forward-auth';
      expect([path, response.status]).toEqual([path, needsInput ? 400 : 200]);
    }
    const routes = routesOf(core, {
      address: { host: '127.0.0.1', port: 0 },
      maxMessage: 1,
      maxKey: 1,
      log: createLog(() => {}),
      isHealthy: () => true,
      live: { reply: () => ({ status: 200, type: '', body: '' }), configChanged() {}, close() {} },
      page: 'none',
    });
    expect(Object.keys(document.paths).toSorted()).toEqual([...routes.keys()].toSorted());
  });
});

describe('the HTTP listener', () => {
  const tokens = () => ['first', 'second', ''];
  const locked = (): Promise<Serving> =>
    serving(LIMITS, { listeners: { http: { address: { host: '127.0.0.1', port: 0 }, tokens } } });

  test('requires a token on all routes except the health check if tokens are configured', async () => {
    const { url, post } = await locked();
    const operation = { limit: 'api', key: 'a' };
    const refused = await post('/v1/take', operation);
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="sluice"']);
    for (const header of ['Bearer ', 'Bearer third', 'Basic first', 'first', 'Bearer firstsecond'])
      expect((await post('/v1/take', operation, { authorization: header })).status).toBe(401);
    for (const header of ['Bearer first', 'bearer second'])
      expect((await post('/v1/take', operation, { authorization: header })).status).toBe(200);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/rlconfig`)).status).toBe(401);
    expect((await fetch(`${url}/healthcheck`)).status).toBe(200);
  });

  test('rejects requests from a page of another origin, and accepts requests from its own page', async () => {
    const { url, post } = await serving(LIMITS);
    const operation = { limit: 'api', key: 'a' };
    expect((await post('/v1/take', operation, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post('/v1/take', operation, { origin: 'null' })).status).toBe(403);
    expect((await post('/v1/take', operation, { origin: url })).status).toBe(200);
  });

  test('rejects cross-site requests without an Origin header on every route except the public ones', async () => {
    const { url, post } = await serving(LIMITS, { page: 'none' });
    const get = async (path: string, site: string): Promise<number> => {
      const response = await fetch(url + path, { headers: { 'sec-fetch-site': site } });
      await response.body?.cancel();
      return response.status;
    };
    for (const path of ['/live', '/v1/limits', '/rlconfig', '/metrics', '/v1/forward-auth?limit=api&key=b'])
      for (const [site, status] of [
        ['cross-site', 403],
        ['same-site', 403],
        ['same-origin', 200],
        ['none', 200],
      ] as const)
        expect([path, site, await get(path, site)]).toEqual([path, site, status]);
    expect(await get('/healthcheck', 'cross-site')).toBe(200);
    const taken = await post('/v1/take', { limit: 'api', key: 'a' }, { 'sec-fetch-site': 'cross-site' });
    expect([taken.status, await taken.json()]).toMatchObject([403, { type: 'urn:sluice:foreign-origin' }]);
  });

  test('does not let cross-site requests use up the streams of /live', async () => {
    const { url } = await serving(LIMITS);
    for (let i = 0; i < 70; i++) {
      const response = await fetch(`${url}/live`, { headers: { 'sec-fetch-site': 'cross-site' } });
      expect(response.status).toBe(403);
    }
    const stream = await fetch(`${url}/live`, { headers: { 'sec-fetch-site': 'same-origin' } });
    expect(stream.status).toBe(200);
    await stream.body?.cancel();
  });
});

test('different keys are counted separately, whatever characters they contain', async () => {
  const { post } = await serving(LIMITS);
  const keys = [
    ' ',
    'a',
    'a:b',
    '{a}{b}',
    '__proto__',
    'constructor',
    'line\nbreak',
    '😀',
    '\ud800',
    '\ud801',
    '\u00e9',
    'e\u0301',
  ];
  for (const key of keys)
    expect(await answer(post('/v1/take', { limit: 'api', key }))).toMatchObject([200, { remaining: 2 }]);
});

test('if the store fails for some operations of a list, these operations are answered with problem details', async () => {
  let asked = 0;
  const store = later(memory(), () => (asked++ === 1 ? new StoreUnavailable('deadline') : 0));
  const { port } = await opened(openHttp, LIMITS, { store });
  const response = await fetch(`http://127.0.0.1:${port}/v1/take`, {
    method: 'POST',
    body: JSON.stringify(['a', 'b', 'c'].map((key) => ({ limit: 'api', key }))),
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject([
    { allowed: true },
    { type: 'urn:sluice:store-unavailable', status: 503, fault: 'deadline' },
    { allowed: true },
  ]);
});

test('with --shadow, every limit decides and counts requests, but does not deny any', async () => {
  const { url, post } = await serving(LIMITS, { shadow: true });
  const operation = { limit: 'api', key: 'alice', cost: 2 };
  expect(await (await post('/v1/take', operation)).json()).not.toHaveProperty('shadowed');
  expect(await (await post('/v1/take', operation)).json()).toMatchObject({ allowed: true, shadowed: true });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('sluice_decisions_total{limit="api",outcome="shadowed"} 1');
});

test('limitedFetch waits as long as the response headers say, and then succeeds', async () => {
  const clock = manualClock(1_700_000_000_000);
  const { port } = await opened(openHttp, 'limits: { api: 10/min }', { store: memory({ clock }) });
  const ask = limitedFetch(fetch, { clock, random: () => 0 });
  const take = () =>
    ask(`http://127.0.0.1:${port}/v1/take?status=429`, {
      method: 'POST',
      body: JSON.stringify({ limit: 'api', key: 'a' }),
    });
  for (let i = 0; i < 10; i++) expect((await take()).status).toBe(200);
  const eleventh = take();
  await new Promise(setImmediate);
  clock.advance(6000);
  expect(await (await eleventh).json()).toMatchObject({ allowed: true, remaining: 0 });
});
