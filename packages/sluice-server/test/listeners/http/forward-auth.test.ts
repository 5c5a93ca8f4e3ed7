/** Tests GET /v1/forward-auth, which proxies call to take from a limit. proxies.test.ts tests it with real proxies. */
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { run, type Serving, serving, temporaryFile } from '../../serving.ts';

const LIMITS = `
limits:
  api: { policies: 2/h, tiers: { pro: 5/h } }
  search: 1/h
  none: { policies: 1/h, overrides: { alice: blocked } }
`;
const HEADERS = { keyHeader: 'X-Key', limitHeader: 'X-Limit' };
const ROUTE = '/v1/forward-auth';

type Get = (query: string, headers?: Record<string, string>) => Promise<Response>;
const getting =
  ({ url }: Serving): Get =>
  (query, headers = {}) =>
    fetch(`${url}${ROUTE}${query}`, { headers });

/** Sends a header X-Key for each value, and returns the status of the response. */
function getWithKeys({ url }: Serving, ...keys: string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    request(`${url}${ROUTE}?limit=api`, { headers: { 'X-Key': keys } }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

describe('GET /v1/forward-auth', () => {
  test('charges the key in the query, and denies it with 429 and Retry-After', async () => {
    const get = getting(await serving(LIMITS));
    for (const remaining of [1, 0]) {
      const allowed = await get('?limit=api&key=gr%C3%BCn');
      expect([allowed.status, allowed.headers.get('retry-after')]).toEqual([200, null]);
      expect(await allowed.json()).toMatchObject({ allowed: true, remaining });
    }
    const denied = await get('?limit=api&key=gr%C3%BCn');
    expect(denied.status).toBe(429);
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(denied.headers.get('ratelimit')).toContain('r=0');
  });

  test('denies with the status that the query names, and never with 200', async () => {
    const get = getting(await serving(LIMITS));
    for (const status of [401, 403, 429])
      expect((await get(`?limit=none&key=alice&status=${status}`)).status).toBe(status);
    const rejected = await get('?limit=none&key=alice&status=200');
    expect([rejected.status, await rejected.json()]).toMatchObject([
      400,
      { detail: 'status must be one of 401, 403, 429' },
    ]);
  });

  test('accepts a cost and a tier in the query', async () => {
    const get = getting(await serving(LIMITS));
    expect(await (await get('?limit=api&key=a&cost=4&tier=pro')).json()).toMatchObject({ remaining: 1 });
  });

  test('takes the key and the limit from the headers that the operator names', async () => {
    const server = await serving(LIMITS, HEADERS);
    const get = getting(server);
    const headers = { 'x-limit': 'search', 'x-key': Buffer.from('grün').toString('latin1') };
    expect((await get('', headers)).status).toBe(200);
    expect((await get('', headers)).status).toBe(429);
    const taken = await server.post('/v1/take?status=429', { limit: 'search', key: 'grün' });
    expect(taken.status, 'the key is the same as in a POST').toBe(429);
  });

  test('ignores the headers if the query names a key and a limit', async () => {
    const get = getting(await serving(LIMITS, HEADERS));
    const chosen = (key: string) => ({ 'x-key': key, 'x-limit': 'api' });
    expect((await get('?limit=search&key=a', chosen('b'))).status).toBe(200);
    expect((await get('?limit=search&key=a', chosen('c'))).status).toBe(429);
  });

  test('ignores headers that the operator did not name', async () => {
    const get = getting(await serving(LIMITS));
    const response = await get('?limit=api', { 'x-key': 'a', 'x-real-ip': '192.0.2.1' });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { detail: 'key is missing; add key=… to the query, or start the server with --key-header' },
    ]);
  });

  test('uses the prefix of an IPv6 address in the key header as the key', async () => {
    const get = getting(await serving(LIMITS, { keyHeader: 'X-Real-IP' }));
    expect((await get('?limit=search', { 'x-real-ip': '2001:db8::1' })).status).toBe(200);
    expect((await get('?limit=search', { 'x-real-ip': '2001:db8:0:ff::2' })).status).toBe(429);
    expect((await get('?limit=search', { 'x-real-ip': '2001:db8:1::1' })).status).toBe(200);
  });

  test('rejects an empty or missing key and a missing limit, and charges nothing', async () => {
    const get = getting(await serving(LIMITS, HEADERS));
    for (const [query, headers, detail] of [
      ['?limit=search&key=', {}, /^key is empty/],
      ['?limit=search', { 'x-key': '' }, /^key is empty/],
      ['?limit=search', {}, /^key is missing; .* send the header X-Key$/],
      ['?key=a', {}, /^limit is missing; .* send the header X-Limit$/],
    ] as const) {
      const response = await get(query, headers);
      expect([response.status, await response.json()]).toMatchObject([
        400,
        { detail: expect.stringMatching(detail) },
      ]);
    }
  });

  test('rejects parameters that are unknown, repeated or not numbers', async () => {
    const get = getting(await serving(LIMITS));
    for (const [query, status, detail] of [
      ['?limit=api&key=a&limit=search', 400, 'limit must be given only once'],
      ['?limit=api&key=a&cost=many', 400, 'cost must be a number; got "many"'],
      ['?limit=api&key=a&cost=-1', 400, 'cost must be a number; got "-1"'],
      ['?limit=api&key=a&costs=1', 400, 'unknown name "costs"'],
      ['?limit=api&key=a&__proto__=1', 400, 'unknown name "__proto__"'],
      ['?limit=nowhere&key=a', 404, 'unknown limit "nowhere"'],
    ] as const) {
      const response = await get(query);
      expect([query, response.status, await response.json()]).toMatchObject([
        query,
        status,
        { detail: expect.stringContaining(detail) },
      ]);
    }
  });

  test('rejects a key header that occurs twice or is not UTF-8, because a client may have sent it', async () => {
    const server = await serving(LIMITS, HEADERS);
    expect(await getWithKeys(server, 'a')).toBe(200);
    expect(await getWithKeys(server, 'a', 'b')).toBe(400);
    expect(await getWithKeys(server, '\xff')).toBe(400);
  });

  test('requires a token that permits the verb take on the limit', async () => {
    const tokens = () => [
      { token: 'edge', verbs: ['take' as const], limits: ['api'] },
      { token: 'ops', verbs: ['metrics' as const] },
    ];
    const address = { host: '127.0.0.1', port: 0 };
    const get = getting(await serving(LIMITS, { listeners: { http: { address, tokens } } }));
    const status = async (limit: string, token?: string): Promise<number> => {
      const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
      return (await get(`?limit=${limit}&key=a`, headers)).status;
    };
    expect(await status('api')).toBe(401);
    expect(await status('api', 'ops')).toBe(403);
    expect(await status('search', 'edge')).toBe(403);
    expect(await status('api', 'edge')).toBe(200);
  });
});

describe('GET /v1/forward-auth, which web pages may try to call,', () => {
  test('forbids caching its responses', async () => {
    const get = getting(await serving(LIMITS));
    for (const query of ['?limit=search&key=a', '?limit=search&key=a', '?limit=search'])
      expect((await get(query)).headers.get('cache-control')).toBe('no-store');
  });

  test('rejects cross-site requests, and charges nothing for them', async () => {
    const get = getting(await serving(LIMITS, HEADERS));
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
    ])
      expect((await get('?limit=search&key=a', headers)).status).toBe(403);
    expect((await get('?limit=search&key=a')).status).toBe(200);
  });

  test('does not permit pages from other sites to send the key header', async () => {
    const { url } = await serving(LIMITS, HEADERS);
    const preflight = await fetch(`${url}${ROUTE}?limit=search`, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-key',
      },
    });
    expect(preflight.status).toBe(405);
    expect([...preflight.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('counts a request with the key header, even if a proxy copied headers of a cross-site request into it', async () => {
    const get = getting(await serving(LIMITS, HEADERS));
    const copied = { origin: 'https://partner.example', 'sec-fetch-site': 'cross-site' };
    expect((await get('?limit=search', { ...copied, 'x-key': 'a' })).status).toBe(200);
  });

  test('rejects cross-site requests if the key header is one that browsers send on their own', async () => {
    const get = getting(await serving(LIMITS, { keyHeader: 'Accept-Language' }));
    const sent = { 'accept-language': 'en', 'sec-fetch-site': 'cross-site' };
    expect((await get('?limit=search', sent)).status).toBe(403);
  });
});

test.each([
  ['X-Forwarded-For', 'Use a header that your proxy overwrites, such as X-Real-IP'],
  ['two words', 'must be the name of a header; got "two words"'],
])('the server does not start with the key header "%s"', async (keyHeader, message) => {
  await expect(serving(LIMITS, { keyHeader })).rejects.toThrow(message);
});

test.each(['--key-header', '--limit-header'])(
  'sluice serve rejects an unsuitable header for %s',
  async (flag) => {
    const { output, gone } = run('serve', '--config', temporaryFile(LIMITS), flag, 'X-Forwarded-For');
    expect(await gone).not.toBe(0);
    expect(output()).toContain(`${flag} must not be X-Forwarded-For`);
  },
);
