/** The log lines about refused and denied requests, and the ids of requests. */
import { describe, expect, test } from 'vitest';
import { createRequestLog } from '../../src/listeners/request-log.ts';
import { createLog } from '../../src/log.ts';
import { type Serving, serving } from '../serving.ts';
import { clientOf, RATE_LIMIT } from './grpc/client.ts';
import { command, talk } from './listeners.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };
const LIMITS = `
limits: { login: 1/h }
domain: edge
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1 } }]
`;
const UUID = /^[\da-f]{8}-[\da-f-]{27}$/;

type Line = Readonly<Record<string, unknown>>;

function linesOf({ lines }: Pick<Serving, 'lines'>, message: string): Line[] {
  return lines.map((line) => JSON.parse(line) as Line).filter((line) => line['message'] === message);
}

describe('a refused request', () => {
  const secret = () => ['secret', { token: 'reader', name: 'reader', verbs: ['peek' as const] }];
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test('over HTTP is logged with its reason and an id, which the response contains', async () => {
    const server = await serving(LIMITS, { listeners: { http: { address: LOCAL, tokens: secret } } });
    const body = { limit: 'missing', key: 'alice' };
    const unauthorized = await server.post('/v1/take', body, { 'x-request-id': 'from-client.1' });
    expect(unauthorized.status).toBe(401);
    expect(unauthorized.headers.get('x-request-id')).toBe('from-client.1');
    const forbidden = await server.post('/v1/take', body, bearer('reader'));
    const unknown = await server.post('/v1/take', body, bearer('secret'));
    const inList = await server.post('/v1/take', [body], { ...bearer('secret'), 'x-request-id': 'a b' });
    const lines = linesOf(server, 'request refused');
    expect(lines).toMatchObject([
      {
        level: 'warn',
        listener: 'http',
        reason: 'unauthorized',
        path: '/v1/take',
        requestId: 'from-client.1',
      },
      { reason: 'forbidden', detail: expect.stringContaining('reader may not use the verb take') },
      { reason: 'unknown-limit', detail: 'unknown limit "missing"', client: '127.0.0.1' },
      { reason: 'unknown-limit' },
    ]);
    for (const [i, response] of [forbidden, unknown, inList].entries()) {
      expect(response.headers.get('x-request-id')).toMatch(UUID);
      expect(lines[i + 1]?.['requestId']).toBe(response.headers.get('x-request-id'));
    }
    expect(server.lines.join('')).not.toContain('alice');
  });

  test('over gRPC and RESP is logged with its reason', async () => {
    const listener = { address: LOCAL, tokens: secret };
    const server = await serving(LIMITS, { listeners: { grpc: listener, resp: listener } });
    const client = clientOf(server.addresses.grpc?.port ?? 0, RATE_LIMIT);
    const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] };
    await expect(client.call('ShouldRateLimit', request)).rejects.toThrow('UNAUTHENTICATED');
    await expect(client.call('ShouldRateLimit', request, { token: 'reader' })).rejects.toThrow('PERMISSION');
    const port = server.addresses.resp?.port ?? 0;
    const take = command('THROTTLE', 'alice', 'missing');
    await talk(port, take, command('AUTH', 'reader'), take);
    await talk(port, command('AUTH', 'secret'), take);
    expect(linesOf(server, 'request refused')).toMatchObject([
      { listener: 'grpc', reason: 'unauthorized', requestId: expect.stringMatching(UUID) },
      { listener: 'grpc', reason: 'forbidden' },
      { listener: 'resp', reason: 'unauthorized', connection: 1 },
      { listener: 'resp', reason: 'forbidden', command: 'throttle' },
      { listener: 'resp', reason: 'unknown-limit', connection: 2 },
    ]);
  });

  test('that is invalid is logged with the reason, but without values that may be keys', async () => {
    const server = await serving(LIMITS, {
      listeners: { http: { address: LOCAL }, grpc: { address: LOCAL } },
      keyHeader: 'X-Real-IP',
    });
    const withoutKey = await fetch(`${server.url}/v1/forward-auth?limit=login`);
    expect(withoutKey.status).toBe(400);
    await server.post('/v1/take', { limit: 'login', key: ['alice'] });
    await server.post('/v1/take', '{"key":"alice');
    expect(
      (
        await server.post(
          '/v1/take',
          Array.from({ length: 1001 }, () => 'alice'),
        )
      ).status,
    ).toBe(413);
    const client = clientOf(server.addresses.grpc?.port ?? 0, RATE_LIMIT);
    await expect(client.call('ShouldRateLimit', { domain: 'edge' })).rejects.toThrow('INVALID_ARGUMENT');
    expect(linesOf(server, 'request refused')).toMatchObject([
      {
        level: 'warn',
        listener: 'http',
        reason: 'invalid',
        path: '/v1/forward-auth',
        detail: 'key is missing; add key=… to the query, or send the header X-Real-IP',
        requestId: withoutKey.headers.get('x-request-id'),
      },
      { reason: 'invalid', detail: 'key must be a string' },
      { reason: 'invalid', detail: 'the body is not valid JSON' },
      { reason: 'invalid', path: '/v1/take' },
      { reason: 'invalid', listener: 'grpc' },
    ]);
    expect(server.lines.join('')).not.toContain('alice');
  });

  test('is logged only once if it was an admin action, which writes a line of its own', async () => {
    const limited = { token: 'ops', name: 'ops', verbs: ['reset' as const], limits: ['other'] };
    const listener = { address: LOCAL, tokens: () => [...secret(), limited] };
    const server = await serving(LIMITS, { listeners: { http: listener, resp: listener } });
    const body = { limit: 'login', key: 'alice' };
    for (const token of ['reader', 'ops'])
      expect((await server.post('/v1/reset', body, bearer(token))).status).toBe(403);
    const port = server.addresses.resp?.port ?? 0;
    for (const token of ['reader', 'ops'])
      await talk(port, command('AUTH', token), command('THROTTLE.RESET', 'alice', 'login'));
    expect(linesOf(server, 'admin action')).toMatchObject(
      ['http', 'http', 'resp', 'resp'].map((name) => ({ listener: name, outcome: 'forbidden' })),
    );
    expect(linesOf(server, 'request refused')).toEqual([]);
  });

  test('is not logged if too many are refused in the same second, and the next line says how many were left out', () => {
    const lines: string[] = [];
    const log = createRequestLog(createLog((line) => lines.push(line)));
    const refuseUntil = (isDone: () => boolean): number => {
      let times = 0;
      for (; !isDone(); times++) log.refused('forbidden', () => ({ detail: 'x'.repeat(1000) }));
      return times;
    };
    const nextSecond = (): (() => boolean) => {
      const second = Math.floor(performance.now() / 1000);
      return () => Math.floor(performance.now() / 1000) > second;
    };
    const wait = nextSecond();
    while (!wait());
    const sent = refuseUntil(nextSecond());
    const before = lines.length;
    expect(sent).toBeGreaterThan(1000);
    expect(before).toBeGreaterThanOrEqual(5);
    expect(before).toBeLessThanOrEqual(10);
    log.refused('forbidden', () => ({}));
    log.refused('unauthorized', () => ({}));
    const suppressed = lines.map((line) => (JSON.parse(line) as { suppressed?: number }).suppressed ?? 0);
    expect(suppressed.reduce((sum, count) => sum + count) + before).toBeGreaterThanOrEqual(sent - 5);
    expect(lines.at(-1)).toContain('unauthorized');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(400);
  });
});

describe('denials', () => {
  test('are not logged by default', async () => {
    const server = await serving(LIMITS);
    for (let i = 0; i < 3; i++) await server.post('/v1/take', { limit: 'login', key: 'alice' });
    expect(linesOf(server, 'denied')).toEqual([]);
  });

  test('are logged with a hash of the key, on all listeners, if --log-denials is set', async () => {
    const listeners = { http: { address: LOCAL }, grpc: { address: LOCAL }, resp: { address: LOCAL } };
    const server = await serving(LIMITS, { listeners, logDenials: 1000 });
    const take = { limit: 'login', key: 'alice' };
    const envoy = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] };
    expect((await server.post('/v1/take', take)).headers.get('x-request-id')).toBeNull();
    const denied = await server.post('/v1/take', take);
    await server.post('/v1/take', [take, { limit: 'login', key: 'bob' }, take]);
    await server.post('/v1/take-many', { items: [take] });
    await server.post('/json', envoy);
    await server.post('/json', envoy);
    await clientOf(server.addresses.grpc?.port ?? 0, RATE_LIMIT).call('ShouldRateLimit', envoy);
    await talk(server.addresses.resp?.port ?? 0, command('THROTTLE', 'alice', 'login'));
    const lines = linesOf(server, 'denied');
    expect(lines).toMatchObject([
      { level: 'info', listener: 'http', limit: 'login', requestId: denied.headers.get('x-request-id') },
      { listener: 'http', limit: 'login', others: 1 },
      { listener: 'http', limit: 'login' },
      { listener: 'http', limit: 'edge.user' },
      { listener: 'grpc', limit: 'edge.user' },
      { listener: 'resp', limit: 'login' },
    ]);
    const hashes = lines.map((line) => line['keyHash']);
    expect(hashes[0]).toMatch(/^[\da-f]{16}$/);
    expect(new Set(hashes).size).toBe(1);
    expect(server.lines.join('')).not.toContain('alice');
  });
});

test('an admin action over HTTP is logged with the id of its request', async () => {
  const server = await serving(LIMITS, { adminTokens: () => ['admin'] });
  const reset = (headers: Record<string, string>) =>
    server.post('/v1/reset', { limit: 'login', key: 'alice' }, { authorization: 'Bearer admin', ...headers });
  await reset({ 'x-request-id': 'abc' });
  const created = (await reset({})).headers.get('x-request-id');
  expect(created).toMatch(UUID);
  expect(linesOf(server, 'admin action').map((line) => line['requestId'])).toEqual(['abc', created]);
});
