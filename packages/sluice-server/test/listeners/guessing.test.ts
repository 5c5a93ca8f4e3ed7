/** Tests that each listener limits wrong tokens by address, and accepts the correct token from other addresses. */
import { connect } from 'node:net';
import { status } from '@grpc/grpc-js';
import { manualClock } from 'sluice/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAttempts } from '../../src/listeners/auth-attempts.ts';
import { openGrpc } from '../../src/listeners/grpc/grpc.ts';
import { openResp } from '../../src/listeners/resp/resp.ts';
import { command, opened, talk } from './listeners.ts';
import { clientOf, RATE_LIMIT } from './grpc/client.ts';
import { serving } from '../serving.ts';

const LIMITS = 'limits: { api: 1000/h }\n---\ndomain: edge\n';
const tokens = (): string[] => ['right'];

/** Sends commands from another loopback address. Returns everything received until the server closes the connection. */
function talkFrom(localAddress: string, port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    onTestFinished(() => void socket.destroy());
    let heard = '';
    socket.on('data', (chunk) => (heard += String(chunk)));
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
    socket.end(text);
  });
}

describe('RESP', () => {
  test('closes a connection after three wrong passwords, and delays the reply to each', async () => {
    const { port } = await opened(openResp, LIMITS, { tokens, attempts: createAttempts() });
    const start = performance.now();
    const guesses = Array.from({ length: 1000 }, (_, i) => command('AUTH', `guess-${i}`)).join('');
    expect(await talk(port, guesses + command('AUTH', 'right') + command('PING'))).toBe(
      '-WRONGPASS invalid password\r\n'.repeat(3),
    );
    expect(performance.now() - start).toBeGreaterThan(450);
  });

  test('counts a wrong password in HELLO like a wrong password in AUTH', async () => {
    const { port } = await opened(openResp, LIMITS, { tokens, attempts: createAttempts() });
    const hello = command('HELLO', '3', 'AUTH', 'default', 'wrong');
    expect(await talk(port, hello.repeat(5))).toBe('-WRONGPASS invalid password\r\n'.repeat(3));
  });

  test('compares at most 20 wrong passwords from one address, and accepts the correct password from another address', async () => {
    const { port } = await opened(openResp, LIMITS, { tokens, attempts: createAttempts() });
    const guess = (i: number) =>
      talk(port, [0, 1, 2].map((j) => command('AUTH', `guess-${i}-${j}`)).join(''));
    const replies = (await Promise.all(Array.from({ length: 40 }, (_, i) => guess(i)))).join('');
    expect(replies.match(/-WRONGPASS/g)).toHaveLength(20);
    expect(replies).toMatch(/-ERR too many failed authentication attempts\. Retry in \d+ s\.\r\n/);
    // Not even the correct password is compared, because otherwise the limit would not slow down guessing.
    expect(await talk(port, command('AUTH', 'right'))).toMatch(/^-ERR too many/);
    const other = command('AUTH', 'right') + command('PING') + command('QUIT');
    expect(await talkFrom('127.0.0.2', port, other)).toBe('+OK\r\n+PONG\r\n+OK\r\n');
  });

  test('does not count the same wrong password twice, so a client with an outdated password does not lock out other clients', async () => {
    const { port } = await opened(openResp, LIMITS, { tokens, attempts: createAttempts() });
    const stale = Array.from({ length: 40 }, () => talk(port, command('AUTH', 'last-year')));
    expect(new Set(await Promise.all(stale))).toEqual(new Set(['-WRONGPASS invalid password\r\n']));
    expect(await talk(port, command('AUTH', 'right'))).toBe('+OK\r\n');
  });
});

describe('HTTP', () => {
  const http = { address: { host: '127.0.0.1', port: 0 }, tokens };
  const bearer = (token: string, more: Record<string, string> = {}) => ({
    authorization: `Bearer ${token}`,
    ...more,
  });
  const operation = { limit: 'api', key: 'a' };

  test('answers 429 after 20 wrong tokens from one address; requests without a token are not counted', async () => {
    const { post, url } = await serving(LIMITS, { listeners: { http } });
    for (let i = 0; i < 30; i++) expect((await post('/v1/take', operation)).status).toBe(401);
    for (let i = 0; i < 20; i++)
      expect((await post('/v1/take', operation, bearer(`guess-${i}`))).status).toBe(401);
    const refused = await post('/v1/take', operation, bearer('right'));
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { type: 'urn:sluice:too-many-attempts' },
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await fetch(`${url}/healthcheck`)).status).toBe(200);
  });

  test('does not count a valid token without permission for the route as a failed attempt', async () => {
    const { post } = await serving(LIMITS, { listeners: { http }, adminTokens: () => ['admin'] });
    for (let i = 0; i < 30; i++)
      expect((await post('/v1/reset', operation, bearer('right'))).status).toBe(403);
    expect((await post('/v1/take', operation, bearer('right'))).status).toBe(200);
    expect((await post('/v1/reset', operation, bearer('admin'))).status).toBe(200);
  });

  test('counts each client behind a trusted proxy separately', async () => {
    const { post } = await serving(LIMITS, { listeners: { http }, trustProxy: 'loopback' });
    const from = (address: string) => ({ 'x-forwarded-for': address });
    for (let i = 0; i < 20; i++) await post('/v1/take', operation, bearer(`${i}`, from('203.0.113.7')));
    expect((await post('/v1/take', operation, bearer('right', from('203.0.113.7')))).status).toBe(429);
    expect((await post('/v1/take', operation, bearer('right', from('203.0.113.8')))).status).toBe(200);
  });

  test('ignores the address in X-Forwarded-For unless the proxy is trusted', async () => {
    const { post } = await serving(LIMITS, { listeners: { http } });
    const claimed = (i: number) => ({ 'x-forwarded-for': `203.0.113.${i}` });
    for (let i = 0; i < 20; i++) await post('/v1/take', operation, bearer(`${i}`, claimed(i)));
    expect((await post('/v1/take', operation, bearer('20', claimed(20)))).status).toBe(429);
  });
});

test('gRPC answers RESOURCE_EXHAUSTED after 20 wrong tokens from one address', async () => {
  const { port } = await opened(openGrpc, LIMITS, { tokens, attempts: createAttempts() });
  const { call } = clientOf(port, RATE_LIMIT);
  const request = { domain: 'edge', descriptors: [{ entries: [{ key: 'a', value: 'b' }] }] };
  const code = (token?: string): Promise<number> =>
    call('ShouldRateLimit', request, token === undefined ? {} : { token }).then(
      () => status.OK,
      (error: { code: number }) => error.code,
    );
  expect(await code('right')).toBe(status.OK);
  for (let i = 0; i < 25; i++) expect(await code()).toBe(status.UNAUTHENTICATED);
  for (let i = 0; i < 20; i++) expect(await code(`guess-${i}`)).toBe(status.UNAUTHENTICATED);
  expect(await code('guess-20')).toBe(status.RESOURCE_EXHAUSTED);
  expect(await code('right')).toBe(status.RESOURCE_EXHAUSTED);
});

test('a flood of addresses does not evict an address that is being denied', () => {
  const attempts = createAttempts(false, manualClock(0));
  for (let i = 0; i < 20; i++) attempts.failed('203.0.113.7', `guess-${i}`);
  expect(attempts.waitOf('203.0.113.7')).toBe(6000);
  for (let i = 0; i < 12_000; i++) attempts.failed(`2001:db8:${i.toString(16)}::/56`, 'x');
  expect(attempts.waitOf('203.0.113.7')).toBe(6000);
});
