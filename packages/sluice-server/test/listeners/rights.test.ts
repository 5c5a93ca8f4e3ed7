/** Tests that all listeners apply the verbs and limits of tokens in the same way, and that admin actions are logged. */
import { writeFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { describe, expect, test } from 'vitest';
import type { GivenToken } from '../../src/listeners/grants.ts';
import { openGrpc } from '../../src/listeners/grpc/grpc.ts';
import { openHttp } from '../../src/listeners/http/http.ts';
import { openResp } from '../../src/listeners/resp/resp.ts';
import { command, opened, talk } from './listeners.ts';
import { clientOf, RATE_LIMIT } from './grpc/client.ts';
import { started, temporaryFile } from '../serving.ts';

const LIMITS = `
limits: { api: 100/h, team-1: 100/h, team-2: 100/h, search: 100/h }
domain: edge
descriptors: [{ key: ip, rate_limit: { unit: hour, requests_per_unit: 100 } }]
---
domain: inner
descriptors: [{ key: ip, rate_limit: { unit: hour, requests_per_unit: 100 } }]
`;

const TOKENS: GivenToken[] = [
  'plain',
  { token: 'taker', name: 'checkout', verbs: ['take', 'peek'] },
  { token: 'team', name: 'team', limits: ['team-*', 'edge'] },
  { token: 'ops', verbs: ['reset'], limits: ['api'] },
  { token: 'scraper', verbs: ['metrics'] },
  { token: 'giver', verbs: ['refund'] },
  { token: 'cell', limits: ['cl.throttle', 'policies'] },
];
const rights = {
  tokens: () => TOKENS,
  adminTokens: () => ['boss', { token: 'audit', verbs: ['config'] as const }],
};

describe('over HTTP,', () => {
  const open = async (options = {}) => {
    const { port, log } = await opened(openHttp, LIMITS, { ...rights, requestPolicies: 5, ...options });
    const ask = async (token: string | undefined, path: string, body?: unknown) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        ...(body !== undefined && { body: JSON.stringify(body) }),
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      });
      const text = await response.text();
      return {
        status: response.status,
        detail: (text.startsWith('{') && JSON.parse(text).detail) as unknown,
      };
    };
    return { ask, log };
  };
  const on = (limit: string, more = {}) => ({ limit, key: 'alice', ...more });

  test('a token permits its verbs on its limits, and every other request is answered with status 403', async () => {
    const { ask } = await open();
    for (const [token, path, body, expected] of [
      ['plain', '/v1/take', on('api'), 200],
      ['plain', '/v1/refund', on('api'), 200],
      ['plain', '/metrics', undefined, 200],
      ['plain', '/v1/reset', on('api'), 403],
      ['plain', '/v1/block', on('api', { duration: 1000 }), 403],
      ['plain', '/v1/unblock', on('api'), 403],
      ['taker', '/v1/take', on('api'), 200],
      ['taker', '/v1/peek', on('search'), 200],
      ['taker', '/v1/take-many', { items: [on('api')] }, 200],
      ['taker', '/json', { domain: 'edge', descriptors: [{ entries: [{ key: 'ip' }] }] }, 200],
      [
        'taker',
        '/json',
        { domain: 'edge', descriptors: [{ entries: [{ key: 'ip' }], isNegativeHits: true }] },
        403,
      ],
      ['taker', '/v1/reserve', on('api'), 403],
      ['taker', '/v1/refund', on('api'), 403],
      ['taker', '/v1/settle', on('api', { charged: 1, used: 0 }), 403],
      ['taker', '/v1/release', on('api'), 403],
      ['taker', '/v1/limits', undefined, 403],
      ['taker', '/metrics', undefined, 403],
      ['team', '/v1/take', on('team-1'), 200],
      ['team', '/v1/settle', on('team-2', { charged: 1, used: 0 }), 200],
      ['team', '/v1/take', on('api'), 403],
      ['team', '/v1/take', on('no-such-limit'), 403],
      ['team', '/v1/take', [on('team-1'), on('api')], 403],
      ['team', '/v1/take-many', { items: [on('team-1'), on('api')] }, 403],
      ['team', '/json', { domain: 'inner', descriptors: [{ entries: [{ key: 'ip' }] }] }, 403],
      ['team', '/v1/take', { policies: '1/s', key: 'alice' }, 403],
      ['team', '/metrics', undefined, 403],
      ['team', '/rlconfig', undefined, 403],
      ['ops', '/v1/reset', on('api'), 200],
      ['ops', '/v1/reset', on('search'), 403],
      ['ops', '/v1/take', on('api'), 403],
      ['scraper', '/metrics', undefined, 200],
      ['scraper', '/v1/limits', undefined, 403],
      ['cell', '/v1/take', { policies: '1/s', key: 'alice' }, 200],
      ['boss', '/v1/reset', on('search'), 200],
      ['boss', '/v1/limits', undefined, 200],
      ['audit', '/v1/limits', undefined, 200],
      ['audit', '/v1/reset', on('api'), 403],
      ['wrong', '/v1/take', on('api'), 401],
      ['', '/v1/take', on('api'), 401],
      [undefined, '/v1/reset', on('api'), 401],
      [undefined, '/healthcheck', undefined, 200],
    ] as const) {
      expect([token, path, body, (await ask(token, path, body)).status]).toEqual([
        token,
        path,
        body,
        expected,
      ]);
    }
  });

  test('a refusal says which token lacks which verb or limit and what the token permits, but does not show the secret', async () => {
    const { ask } = await open();
    expect(await ask('taker', '/v1/reset', on('api'))).toEqual({
      status: 403,
      detail: 'checkout may not use the verb reset; its verbs are take, peek',
    });
    expect(await ask('team', '/v1/take', on('api'))).toEqual({
      status: 403,
      detail: 'team may not use the limit "api"; its limits are team-*, edge',
    });
    expect(await ask('plain', '/v1/reset', on('api'))).toEqual({
      status: 403,
      detail:
        'token 1 may not use the verb reset; use an admin token, or a token whose line in the token file names the verb',
    });
  });

  test('each admin action is logged with its author, subject and outcome', async () => {
    const { ask, log } = await open();
    await ask('plain', '/v1/take', on('api'));
    await ask('boss', '/v1/block', on('api', { duration: '1m' }));
    await ask('boss', '/v1/unblock', { limit: 'api', key: 'k'.repeat(300) });
    await ask('boss', '/v1/reset', [on('api'), on('search')]);
    await ask('boss', '/v1/reset', on('none'));
    await ask('ops', '/v1/reset', on('search'));
    await ask('taker', '/v1/block', on('api', { duration: '1m' }));
    const line = (verb: string, by: string, limit: unknown, key: unknown, outcome: string) => ({
      time: expect.any(String) as unknown,
      level: 'info',
      message: 'admin action',
      listener: 'http',
      verb,
      by,
      ...(limit !== undefined && { limit, key }),
      outcome,
      requestId: expect.any(String) as unknown,
    });
    const lines = log.map((text) => JSON.parse(text) as Record<string, unknown>);
    expect(lines).toEqual([
      line('block', 'admin token 1', 'api', 'alice', 'done'),
      line('unblock', 'admin token 1', 'api', 'k'.repeat(200), 'done'),
      line('reset', 'admin token 1', 'api', 'alice', 'done'),
      line('reset', 'admin token 1', 'search', 'alice', 'done'),
      line('reset', 'admin token 1', 'none', 'alice', 'failed'),
      line('reset', 'token 4', 'search', 'alice', 'forbidden'),
      line('block', 'checkout', undefined, undefined, 'forbidden'),
    ]);
    expect(log.join('')).not.toMatch(/boss|ops|taker/);
  });
});

describe('over RESP,', () => {
  const open = async (options = {}) => {
    const { port, log } = await opened(openResp, LIMITS, { ...rights, ...options });
    const ask = async (token: string | undefined, ...commands: string[][]) =>
      (
        await talk(
          port,
          [...(token === undefined ? [] : [['AUTH', token]]), ...commands]
            .map((words) => command(...words))
            .join(''),
        )
      ).replace(/^\+OK\r\n/, '');
    return { ask, log };
  };

  test('a token permits its verbs on its limits, and every other command is answered with NOPERM', async () => {
    const { ask } = await open();
    for (const [token, words, expected] of [
      ['plain', 'THROTTLE alice api', /^\*5/],
      ['plain', 'THROTTLE.REFUND alice api', /^\*5/],
      ['plain', 'CL.THROTTLE alice 15 30 60', /^\*5/],
      [
        'plain',
        'THROTTLE.RESET alice api',
        /^-NOPERM token 1 may not use the verb reset; use an admin token/,
      ],
      ['taker', 'THROTTLE alice api', /^\*5/],
      ['taker', 'THROTTLE.MANY alice api 1', /^\*6/],
      ['taker', 'CL.THROTTLE alice 15 30 60 -1', /^-NOPERM checkout may not use the verb refund/],
      [
        'taker',
        'THROTTLE.REFUND alice api',
        /^-NOPERM checkout may not use the verb refund; its verbs are take, peek/,
      ],
      ['taker', 'THROTTLE.BLOCK alice api 1000', /^-NOPERM/],
      ['giver', 'CL.THROTTLE alice 15 30 60 -1', /^\*5/],
      ['giver', 'CL.THROTTLE alice 15 30 60', /^-NOPERM/],
      ['team', 'THROTTLE alice team-1', /^\*5/],
      ['team', 'THROTTLE alice api', /^-NOPERM team may not use the limit "api"/],
      ['team', 'THROTTLE.MANY alice team-1 1 alice api 1', /^-NOPERM/],
      ['team', 'CL.THROTTLE alice 15 30 60', /^-NOPERM team may not use the limit "cl.throttle"/],
      ['cell', 'CL.THROTTLE alice 15 30 60', /^\*5/],
      ['ops', 'THROTTLE.RESET alice api', /^\*5/],
      ['ops', 'THROTTLE.RESET alice search', /^-NOPERM/],
      ['boss', 'THROTTLE.BLOCK alice search 1000', /^\*5\r\n:1/],
      ['boss', 'THROTTLE.UNBLOCK alice search', /^\*5\r\n:0/],
      ['wrong', 'THROTTLE alice api', /^-WRONGPASS invalid password\r\n-NOAUTH/],
      [undefined, 'THROTTLE alice api', /^-NOAUTH/],
    ] as const)
      expect([token, words, await ask(token, words.split(' '))]).toEqual([
        token,
        words,
        expect.stringMatching(expected),
      ]);
  });

  test('an admin token is accepted if only admin tokens are configured, and clients without a token cannot reset', async () => {
    const { ask, log } = await open({ tokens: undefined });
    expect(await ask(undefined, ['THROTTLE', 'alice', 'api'])).toMatch(/^\*5/);
    expect(await ask(undefined, ['THROTTLE.RESET', 'alice', 'api'])).toMatch(
      /^-NOPERM a client without a token may not use the verb reset/,
    );
    expect(await ask('boss', ['THROTTLE.RESET', 'alice', 'api'])).toMatch(/^\*5/);
    expect(await ask('plain', ['PING'])).toMatch(/^-WRONGPASS/);
    expect(log.map((line) => JSON.parse(line))).toMatchObject([
      { listener: 'resp', verb: 'reset', by: 'a client without a token', outcome: 'forbidden' },
      { listener: 'resp', verb: 'reset', by: 'admin token 1', limit: 'api', key: 'alice', outcome: 'done' },
    ]);
  });

  test('clients without a token cannot reset or block, unless adminWithoutToken is set', async () => {
    const none = { tokens: undefined, adminTokens: undefined };
    const strict = await open(none);
    expect(await strict.ask(undefined, ['THROTTLE.BLOCK', 'alice', 'api', '1000'])).toMatch(/^-NOPERM/);
    const lenient = await open({ ...none, adminWithoutToken: true });
    expect(await lenient.ask(undefined, ['THROTTLE.BLOCK', 'alice', 'api', '1000'])).toMatch(/^\*5\r\n:1/);
  });
});

test('over gRPC, a token gets PERMISSION_DENIED for a call that it does not permit, and a wrong token gets UNAUTHENTICATED', async () => {
  const { port } = await opened(openGrpc, LIMITS, rights);
  const { call } = clientOf(port, RATE_LIMIT);
  const codeOf = async (token: string | undefined, domain: string, isNegativeHits = false) => {
    const request = { domain, descriptors: [{ entries: [{ key: 'ip', value: 'x' }], isNegativeHits }] };
    try {
      await call('ShouldRateLimit', request, token === undefined ? {} : { token });
      return 0;
    } catch (error) {
      return (error as { code: number }).code;
    }
  };
  const cases: [expected: number, token: string | undefined, domain: string, isNegativeHits?: boolean][] = [
    [0, 'plain', 'edge'],
    [0, 'plain', 'edge', true],
    [0, 'boss', 'edge'],
    [0, 'team', 'edge'],
    [status.PERMISSION_DENIED, 'team', 'inner'],
    [0, 'taker', 'inner'],
    [status.PERMISSION_DENIED, 'taker', 'inner', true],
    [0, 'giver', 'inner', true],
    [status.PERMISSION_DENIED, 'giver', 'inner'],
    [status.PERMISSION_DENIED, 'scraper', 'inner'],
    [status.UNAUTHENTICATED, 'wrong', 'edge'],
    [status.UNAUTHENTICATED, undefined, 'edge'],
  ];
  for (const [expected, ...asked] of cases)
    expect([...asked, await codeOf(...asked)]).toEqual([...asked, expected]);
});

test('--http-token-file accepts plain tokens and tokens with restrictions, and an invalid file does not replace them', async () => {
  const file = temporaryFile('plain\ns3cret name=checkout verbs=take limits=api\n', 'tokens');
  const server = await started('--config', temporaryFile(LIMITS), '--http-token-file', file);
  const ask = async (token: string, path: string, limit: string) =>
    (
      await fetch(server.url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ limit, key: 'alice' }),
      })
    ).status;
  expect(await ask('plain', '/v1/refund', 'search')).toBe(200);
  expect(await ask('s3cret', '/v1/take', 'api')).toBe(200);
  expect(await ask('s3cret', '/v1/take', 'search')).toBe(403);
  expect(await ask('s3cret', '/v1/peek', 'api')).toBe(403);
  writeFileSync(file, 's3cret verbs=tkae\n');
  await expect
    .poll(
      async () => [await ask('s3cret', '/v1/take', 'api'), server.output().includes('invalid token file')],
      {
        timeout: 20_000,
      },
    )
    .toEqual([200, true]);
  expect(server.output()).toContain(`line 1: unknown verb`);
  expect(server.output()).not.toContain('s3cret');
});
