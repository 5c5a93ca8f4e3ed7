import { request } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { serving } from '../../serving.ts';

const LIMITS = `
limits:
  api: 3/h
  search: { policies: 2/h, tiers: { pro: 10/h }, overrides: { own: 5/h, free: unlimited } }
  model: { policies: { requests: 3/h, tokens: 9/h }, classes: { batch: { keep: 0.3 } } }
domain: edge
descriptors:
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 2 }
`;

describe('invalid input:', () => {
  const cases: [path: string, body: unknown, status: number, detail: RegExp][] = [
    ['/v1/take', '{"limit":', 400, /^the body is not valid JSON/],
    ['/v1/take', '', 400, /^the body is not valid JSON/],
    ['/v1/take', 'null', 400, /must be an object/],
    ['/v1/take', '5', 400, /must be an object/],
    ['/v1/take', { limit: 'none', key: 'a' }, 404, /unknown limit "none"/],
    ['/v1/take', { limit: '__proto__', key: 'a' }, 404, /unknown limit/],
    ['/v1/take', { key: 'a' }, 400, /limit must be a string/],
    ['/v1/take', { limit: 'api', key: 5 }, 400, /key must be a string; got 5/],
    ['/v1/take', { limit: 'api', key: '' }, 400, /key must not be empty/],
    ['/v1/take-many', { items: [{ limit: 'api', key: '' }] }, 400, /1 of 1 operations are invalid/],
    ['/v1/take', '{"limit":"api","key":"x","limit":"search"}', 400, /the member "limit" twice in one object/],
    ['/v1/take', '{"limit":"model","key":"x","cost":{"tokens":1,"tokens":0}}', 400, /"tokens" twice/],
    ['/v1/take', '[{"limit":"api","key":"x"},{"key":"x","limit":"api","key":"y"}]', 400, /"key" twice/],
    ['/v1/take', '{"limit":"api","key":"x","k\\u0065y":"y"}', 400, /"key" twice/],
    ['/json', '{"domain":"edge","descriptors":[],"domain":"other"}', 400, /"domain" twice/],
    ['/v1/take', { limit: 'api', key: 'é'.repeat(600) }, 400, /key must have at most 1024 bytes/],
    [
      '/v1/take',
      { limit: 'api', key: 'a', cost: -1 },
      400,
      /cost must be a finite number, 0 or more; got -1/,
    ],
    ['/v1/take', '{"limit":"api","key":"a","cost":1e999}', 400, /cost must be a finite number/],
    ['/v1/take', { limit: 'api', key: 'a', cost: 1e300 }, 400, /cost must be at most 2\^53/],
    ['/v1/peek', { limit: 'api', key: 'a', cost: 2 ** 53 + 2 }, 400, /cost must be at most 2\^53/],
    ['/v1/take', { limit: 'api', key: 'a', cost: '1' }, 400, /cost must be/],
    ['/v1/take', { limit: 'api', key: 'a', cost: null }, 400, /cost must be/],
    ['/v1/take', { limit: 'api', key: 'a', cost: [1] }, 400, /cost must be/],
    [
      '/v1/take',
      { limit: 'model', key: 'a', cost: { tokens: -1 } },
      400,
      /cost.tokens must be a finite number/,
    ],
    [
      '/v1/take',
      { limit: 'search', key: 'free', cost: { default: -1 } },
      400,
      /cost.default must be a finite/,
    ],
    ['/v1/take', { limit: 'model', key: 'a', cost: { tokens: null } }, 400, /cost.tokens must be a finite/],
    ['/v1/take', { limit: 'model', key: 'a', cost: { tokens: 1e300 } }, 400, /cost.tokens must be at most/],
    ['/v1/take', { limit: 'model', key: 'a', cost: { tokns: 1 } }, 400, /cost.tokns is not a policy/],
    ['/v1/peek', { limit: 'model', key: 'a', cost: { tokns: 1 } }, 400, /cost.tokns is not a policy/],
    ['/v1/refund', { limit: 'model', key: 'a', cost: { tokns: 1 } }, 400, /cost.tokns is not a policy/],
    ['/v1/take', '{"limit":"model","key":"a","cost":{"__proto__":1}}', 400, /cost.__proto__ is not a policy/],
    [
      '/v1/take',
      { limit: 'model', key: 'a', cost: { tokens: 2 }, mode: 'partial' },
      400,
      /cost must be a number with mode/,
    ],
    ['/v1/take', { limit: 'model', key: 'a', class: 'bulk' }, 400, /class must be one of these \(batch\)/],
    ['/v1/take', { limit: 'model', key: 'a', class: 1 }, 400, /class must be a string; got 1/],
    ['/v1/take', { limit: 'model', key: 'a', class: 'batch', keep: 0.5 }, 400, /keep is not an option here/],
    ['/v1/take', { limit: 'model', key: 'a', keep: 1.5 }, 400, /keep must be a fraction/],
    ['/v1/take', { limit: 'model', key: 'a', keep: -1 }, 400, /keep must be a fraction/],
    ['/v1/take', { limit: 'model', key: 'a', keep: '0.3' }, 400, /keep must be a number/],
    ['/v1/take', { limit: 'model', key: 'a', keep: { tokens: null } }, 400, /keep must be a number/],
    ['/v1/peek', { limit: 'model', key: 'a', keep: { tokns: 0.3 } }, 400, /keep.tokns is not a policy/],
    ['/v1/refund', { limit: 'model', key: 'a', keep: 0.3 }, 400, /unknown name "keep" in refund/],
    ['/v1/refund', { limit: 'model', key: 'a', at: 'now' }, 400, /at must be a number/],
    ['/v1/refund', { limit: 'model', key: 'a', at: -1 }, 400, /at must be/],
    ['/v1/refund', { limit: 'model', key: 'a', at: 1e15 }, 400, /at must be/],
    ['/v1/settle', { limit: 'model', key: 'a', used: 1 }, 400, /charged must be a finite number/],
    ['/v1/settle', { limit: 'model', key: 'a', charged: 1 }, 400, /used must be a finite number/],
    ['/v1/settle', { limit: 'model', key: 'a', charged: 1, used: { tokns: 1 } }, 400, /used.tokns is not/],
    ['/v1/settle', { limit: 'model', key: 'a', charged: 1, used: 2, at: 1e15 }, 400, /at must be/],
    ['/v1/take', { limit: 'api', key: 'a', mode: 'x' }, 400, /mode must be/],
    ['/v1/take', { limit: 'api', key: 'a', tier: 'x' }, 400, /tier is not a tier of this limiter/],
    ['/v1/take', { limit: 'search', key: 'a', tier: '\0own' }, 400, /is not a tier/],
    ['/v1/take', { limit: 'api', key: 'a', costs: 1 }, 400, /unknown name "costs" in take/],
    ['/v1/take', { limit: 'api', key: 'a', __proto__x: 1 }, 400, /unknown name/],
    ['/v1/reset', { limit: 'api', key: 'a', cost: 1 }, 400, /unknown name "cost" in reset/],
    ['/v1/block', { limit: 'api', key: 'a' }, 400, /duration must be/],
    ['/v1/block', { limit: 'api', key: 'a', duration: 'soon' }, 400, /block must be a positive duration/],
    ['/v1/take?status=500', { limit: 'api', key: 'a' }, 400, /status must be 200 or 429/],
    ['/v1/steal', {}, 404, /./],
    ['/json', { domain: '', descriptors: [] }, 400, /domain must be a non-empty string/],
    ['/json', { domain: 'edge', descriptors: [] }, 400, /descriptors must be a non-empty array/],
    ['/json', { domain: 'edge', descriptors: [{ entries: {} }] }, 400, /entries must be an array/],
    ['/json', { domain: 'edge', descriptors: [{ entries: [{ value: 'x' }] }] }, 400, /key of an entry/],
    [
      '/json',
      { domain: 'edge', descriptors: [{ entries: [{ key: 'ip' }] }], hits: 1 },
      400,
      /unknown name "hits"/,
    ],
    [
      '/json',
      { domain: 'edge', descriptors: [{ entries: [{ key: 'ip' }], hitsAddend: -1 }] },
      400,
      /hitsAddend/,
    ],
    [
      '/json',
      { domain: 'edge', descriptors: [{ entries: [{ key: 'ip', value: 'é'.repeat(512) }] }] },
      400,
      /must have at most 1024 bytes/,
    ],
  ];
  test.each(cases)('%s rejects %j with problem details', async (path, body, status, detail) => {
    const { post } = await serving(LIMITS, { adminWithoutToken: true });
    const response = await post(path, body);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
    const problem = (await response.json()) as { status: number; detail?: string; title: string };
    expect(problem.status).toBe(status);
    expect(problem.detail ?? problem.title).toMatch(detail);
    const peeked = await post('/v1/peek', { limit: 'model', key: 'a', cost: 0 });
    expect(((await peeked.json()) as { resetAfter: number }).resetAfter).toBe(0);
  });

  test('a body that is too large is rejected, with or without Content-Length', async () => {
    const { post, url } = await serving(LIMITS, { maxMessage: 1000 });
    expect((await post('/v1/take', 'x'.repeat(1001))).status).toBe(413);
    const status = await new Promise((resolve, reject) => {
      const chunked = request(`${url}/v1/take`, { method: 'POST' }, (response) =>
        resolve(response.statusCode),
      );
      chunked.on('error', reject);
      chunked.write('x'.repeat(900));
      chunked.end('x'.repeat(900));
    });
    expect(status).toBe(413);
    expect((await post('/v1/take', { limit: 'api', key: 'a' })).status).toBe(200);
  });

  test('any JSON or text as a body never gives status 500', async () => {
    const { post } = await serving(LIMITS, { adminWithoutToken: true });
    const paths = ['/v1/take', '/v1/peek', '/v1/refund', '/v1/reset', '/v1/block', '/json'];
    const member = fc.constantFrom(
      'limit',
      'key',
      'cost',
      'tier',
      'mode',
      'duration',
      'domain',
      'descriptors',
      'entries',
      'value',
    );
    const word = fc.constantFrom<unknown>(
      'api',
      'search',
      'own',
      'pro',
      'edge',
      'ip',
      '10m',
      'whole',
      1,
      0,
      null,
    );
    const { any } = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'small' },
        word,
        fc.string({ unit: 'binary' }),
        fc.double(),
        fc.array(tie('any'), { maxLength: 3 }),
        fc.dictionary(member, tie('any'), { maxKeys: 6 }),
      ),
    }));
    const body = fc.oneof(
      any.map((value) => JSON.stringify(value)),
      fc.string({ unit: 'binary', maxLength: 50 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...paths), body, async (path, text) => {
        expect((await post(path, text)).status).not.toBe(500);
      }),
      { numRuns: 500 },
    );
  }, 30_000);

  test('the response to a wrong method names the allowed method', async () => {
    const { url } = await serving(LIMITS, { adminWithoutToken: true });
    const response = await fetch(`${url}/v1/take`);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('arbitrary bytes on the socket do not break the server', async () => {
    const { url, post } = await serving(LIMITS, { adminWithoutToken: true });
    for (const rubbish of [
      '\x00\x01\x02\r\n\r\n',
      'GET\r\n\r\n',
      'POST /v1/take HTTP/1.1\r\nContent-Length: x\r\n\r\n',
    ]) {
      await new Promise<void>((resolve) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.end(rubbish));
        socket.on('error', () => resolve());
        socket.on('close', () => resolve());
        socket.resume();
      });
    }
    expect((await post('/v1/take', { limit: 'api', key: 'a' })).status).toBe(200);
  });
});

test('a body that ends early is not logged as a server error', async () => {
  const server = await serving(LIMITS, { adminWithoutToken: true });
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1' });
  socket.write('POST /v1/take HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{', () => socket.destroy());
  await vi.waitFor(
    async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      expect(metrics).toContain('sluice_requests_total{listener="http",route="/v1/take",code="400"} 1');
    },
    { timeout: 10_000 },
  );
  expect(server.lines.filter((line) => line.includes('"error"'))).toEqual([]);
});
