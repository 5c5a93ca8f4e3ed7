/**
 * Tests the `remote` store against a real server: sharing, faults, permissions, and requests that the store itself never sends.
 */
import { execFile } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leased,
  type Limiter,
  type StoreUnavailable,
} from 'sluice';
import { remote, type RemoteFetch, type RemoteOptions } from 'sluice/remote';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import type { Token } from '../../src/index.ts';
import { serving, type Serving } from '../serving.ts';

const LIMITS = 'limits: { api: 3/h }';
const TOKEN = 'secret';
const PROCESS = fileURLToPath(new URL('process.mjs', import.meta.url));

/** Starts a server that decides for remote stores. */
function remoteServer(url = 'memory', options: Parameters<typeof serving>[1] = {}): Promise<Serving> {
  return serving(LIMITS, {
    remote: true,
    adminTokens: () => [TOKEN],
    store: { url, deadline: '30s' },
    ...options,
  });
}

/** One HTTP listener on a free port, with these tokens. */
const httpWith = (tokens: () => readonly Token[]) => ({
  http: { address: { host: '127.0.0.1', port: 0 }, tokens },
});

function limiterOn(url: string, name: string, options: RemoteOptions = {}): Limiter<Promise<Decision>> {
  const store = remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw', ...options });
  onTestFinished(() => void store.close());
  return createLimiter(fixedWindow({ limit: 3, per: '1h' }), { store, name });
}

/** Starts an HTTP server that is not a sluice-server. */
async function foreignServer(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('two processes', () => {
  test.each([
    ['memory', () => 'memory'],
    ['Redis', () => `redis://127.0.0.1:${inject('redisPort')}/11`],
  ])('admit exactly the limit through a server on %s', async (_, store) => {
    const { url } = await remoteServer(store());
    const own = remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw' });
    await createLimiter('1/h', { store: own, name: 'shared' }).reset('alice');
    await own.close();
    const argument = JSON.stringify({ url, token: TOKEN, limit: 100, checks: 80 });
    const run = () => promisify(execFile)(process.execPath, [PROCESS, argument]);
    const admitted = (await Promise.all([run(), run()])).map(({ stdout }) => Number(stdout));
    expect(admitted[0] + admitted[1]).toBe(100);
  });
});

test('a remote limiter shares no counts with the limit of the same name in the configuration', async () => {
  const { url, core } = await remoteServer();
  const store = remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw' });
  expect((await createLimiter('3/h', { store, name: 'api' }).take('alice')).remaining).toBe(2);
  expect((await core.take('api', 'alice')).remaining).toBe(2);
  await store.close();
});

describe('hits of one tick', () => {
  test('are sent in one request, and each caller gets its own answer', async () => {
    const { url } = await remoteServer();
    const sent: number[] = [];
    const counting: RemoteFetch = (to, init) => {
      sent.push((JSON.parse(init.body) as [unknown, unknown[]])[1].length);
      return fetch(to, init);
    };
    const limiter = limiterOn(url, 'ticks', { fetch: counting });
    const decisions = await Promise.all(['a', 'a', 'b', 'a', 'a'].map((key) => limiter.take(key)));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false]);
    expect(sent).toEqual([5]);
  });

  test('are divided into several requests if the server does not accept all of them in one request', async () => {
    const { url } = await remoteServer('memory', { maxMessage: 2000 });
    const limiter = limiterOn(url, 'large');
    const keys = Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(100, '.'));
    const decisions = await Promise.all(keys.map((key) => limiter.take(key)));
    expect(decisions.every(({ remaining }) => remaining === 2)).toBe(true);
    await expect(limiter.take('x'.repeat(3000))).rejects.toMatchObject({ code: 'ERR_OPTIONS' });
  });
});

describe('takeMany', () => {
  test.each([
    ['memory', () => 'memory'],
    ['Redis', () => `redis://127.0.0.1:${inject('redisPort')}/11`],
  ])('is decided in one step by a server on %s', async (_, store) => {
    const { url } = await remoteServer(store());
    const limiter = limiterOn(url, `many ${process.pid}`);
    const both = [{ key: 'a' }, { key: 'b' }];
    expect(await limiter.takeMany(both)).toMatchObject({ allowed: true, atomic: true });
    await limiter.take('b', 2);
    expect(await limiter.takeMany(both)).toMatchObject({ allowed: false, atomic: true });
    expect((await limiter.peek('a')).remaining).toBe(2);
    await Promise.all(both.map(({ key }) => limiter.reset(key)));
  });
});

describe('leased(remote(url))', () => {
  test('admits at most the limit, with few requests, if the server leases from Redis', async () => {
    const redis = `redis://127.0.0.1:${inject('redisPort')}/11`;
    const { url } = await remoteServer('', { store: { url: redis, deadline: '30s', leases: { nodes: 2 } } });
    let requests = 0;
    const expiring: number[] = [];
    const counting: RemoteFetch = async (to, init) => {
      requests++;
      const response = await fetch(to, init);
      const text = await response.text();
      for (const answer of JSON.parse(text) as unknown[][])
        if (typeof answer[9] === 'number') expiring.push(answer[9]);
      return { ok: response.ok, status: response.status, text: async () => text };
    };
    const policy = fixedWindow({ limit: 1000, per: '1h', align: 'first' });
    const name = `levels ${process.pid}`;
    const stores = [1, 2].map(() =>
      leased(remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw', fetch: counting }), {
        nodes: 4,
      }),
    );
    const limiters = stores.map((store) => createLimiter(policy, { store, name }));
    let admitted = 0;
    for (let i = 0; i < 700; i++)
      for (const limiter of limiters) if ((await limiter.take('tenant')).allowed) admitted++;
    expect(admitted).toBeGreaterThan(700);
    expect(admitted).toBeLessThanOrEqual(1000);
    expect(requests).toBeLessThan(400);
    // The server passed on units of its own lease.
    expect(expiring.length).toBeGreaterThan(0);
    await limiters[0].reset('tenant');
    for (const store of stores) await store.close();
  });
});

describe('the verbs that need an earlier decision', () => {
  test('act on exactly the charge of that decision: refund, settle and release', async () => {
    const { url } = await remoteServer();
    const limiter = limiterOn(url, 'charges');
    const decision = await limiter.take('a', 2);
    expect((await limiter.refund('a', { of: decision, cost: 1 })).remaining).toBe(2);
    expect((await limiter.settle('a', { of: decision, charged: 1, used: 3 })).remaining).toBe(0);
    await expect(limiter.refund('a', { at: Date.now() + 60_000 })).rejects.toMatchObject({
      code: 'ERR_INSTANT',
    });
    const store = remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw' });
    const places = createLimiter(concurrency({ limit: 1, lease: '1m' }), { store, name: 'places' });
    const held = await places.take('a');
    expect((await places.take('a')).allowed).toBe(false);
    await places.release('a', { of: held });
    expect((await places.take('a')).allowed).toBe(true);
    await store.close();
  });
});

describe('a configuration error is thrown to callers, whatever onFailure is,', () => {
  const open = { onFailure: 'allow' } as const;

  test('if the server was started without --remote', async () => {
    const { url } = await serving(LIMITS, { adminTokens: () => [TOKEN] });
    await expect(limiterOn(url, 'off', open).take('a')).rejects.toMatchObject({
      code: 'ERR_OPTIONS',
      message: expect.stringContaining('update the server, and start it with --remote'),
    });
  });

  test('if the server is too old to know the route', async () => {
    const url = await foreignServer((_, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ type: 'urn:sluice:not-found', title: 'Not found', status: 404 }));
    });
    await expect(limiterOn(url, 'old', open).take('a')).rejects.toMatchObject({
      code: 'ERR_OPTIONS',
      message: expect.stringContaining('update the server, and start it with --remote'),
    });
  });

  test.each([
    ['no token', undefined],
    ['a wrong token', 'wrong'],
  ])('if the client has %s', async (_, token) => {
    const { url } = await remoteServer();
    await expect(limiterOn(url, 'token', { ...open, token }).take('a')).rejects.toMatchObject({
      code: 'ERR_PERMISSION',
      message: expect.stringContaining('an admin token is required'),
    });
  });

  test('if the server has no token and does not allow local requests without one', async () => {
    const closed = await serving(LIMITS, { remote: true });
    await expect(
      limiterOn(closed.url, 'none', { ...open, token: undefined }).take('a'),
    ).rejects.toMatchObject({
      code: 'ERR_PERMISSION',
      message: expect.stringContaining('--admin-token-file'),
    });
    const local = await serving(LIMITS, { remote: true, adminWithoutToken: true });
    expect((await limiterOn(local.url, 'none', { ...open, token: undefined }).take('a')).source).toBe(
      'store',
    );
  });

  test("if the token does not permit the verb 'store'", async () => {
    const tokens = () => [{ token: TOKEN, verbs: ['take' as const] }];
    const { url } = await remoteServer('memory', { adminTokens: undefined, listeners: httpWith(tokens) });
    await expect(limiterOn(url, 'verbs', open).take('a')).rejects.toMatchObject({
      code: 'ERR_PERMISSION',
      message: expect.stringContaining('may not use the verb store'),
    });
  });

  test('if the URL or the token is invalid', () => {
    for (const url of ['', 'localhost:8080', 'redis://localhost', 'http://user:secret@localhost'])
      expect(() => remote(url)).toThrow(
        expect.objectContaining({ code: 'ERR_OPTIONS', option: 'remote.url' }),
      );
    expect(() => remote('http://localhost', { token: 'two words' })).toThrow(
      expect.objectContaining({ code: 'ERR_OPTIONS', message: expect.not.stringContaining('two words') }),
    );
    expect(() => remote('http://localhost', { tokn: 'x' } as RemoteOptions)).toThrow('ERR_UNKNOWN_OPTION');
  });
});

test('a client whose token has the verb store gets decisions, and its resets and blocks are logged', async () => {
  const tokens = () => [{ token: TOKEN, name: 'worker', verbs: ['store' as const] }];
  const { url, lines } = await remoteServer('memory', {
    adminTokens: undefined,
    listeners: httpWith(tokens),
  });
  const limiter = limiterOn(url, 'audited');
  expect((await limiter.take('a')).remaining).toBe(2);
  await limiter.block('a', '1h');
  await limiter.unblock('a');
  await limiter.reset('b');
  const actions = lines.map((line) => JSON.parse(line)).filter(({ message }) => message === 'admin action');
  expect(actions.map(({ verb, by, limit, key }) => [verb, by, limit, key])).toEqual([
    ['block', 'worker', 'audited', 'a'],
    ['unblock', 'worker', 'audited', 'a'],
    ['reset', 'worker', 'audited', 'b'],
  ]);
});

describe('an outage is answered by onFailure', () => {
  test.each<[string, () => Promise<string>]>([
    ['nothing listens', async () => 'http://127.0.0.1:1'],
    ['another server answers with a page', () => foreignServer((_, response) => response.end('<html>'))],
    ['a proxy answers with 404', () => foreignServer((_, response) => response.writeHead(404).end('none'))],
    [
      'a proxy redirects',
      () => foreignServer((_, response) => response.writeHead(302, { location: '/' }).end()),
    ],
    ['the connection breaks', () => foreignServer(({ socket }) => socket.destroy())],
    ['the answer is truncated', () => foreignServer((_, response) => response.end('[[true,1'))],
    ['the answer is an empty list', () => foreignServer((_, response) => response.end('[]'))],
  ])('if %s', async (_, start) => {
    const url = await start();
    const decision = await limiterOn(url, 'outage', { onFailure: 'deny', deadline: '5s' }).take('a');
    expect([decision.allowed, decision.source]).toEqual([false, 'fallback']);
    const error = await limiterOn(url, 'outage', { deadline: '5s' })
      .take('a')
      .then(undefined, (failure: StoreUnavailable) => failure);
    expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
  });

  test('if the server does not answer before the deadline', async () => {
    const url = await foreignServer(() => {});
    const limiter = limiterOn(url, 'silent', { onFailure: 'deny', deadline: 50 });
    expect((await limiter.take('a')).source).toBe('fallback');
  });

  test('if the store of the server fails', async () => {
    const store = { url: 'redis://127.0.0.1:1', onFailure: 'throw', deadline: '50ms' } as const;
    const { url } = await remoteServer('', { store });
    const limiter = limiterOn(url, 'down', { onFailure: 'deny', deadline: '10s' });
    expect((await limiter.take('a')).source).toBe('fallback');
  });

  test('until requests succeed again', async () => {
    let isDown = true;
    const { url } = await remoteServer();
    const limiter = limiterOn(url, 'back', {
      onFailure: 'local',
      fetch: (to, init) => (isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(to, init)),
      onEvent: () => {},
    });
    for (let i = 0; i < 30; i++) expect((await limiter.take('a')).source).toBe('fallback');
    isDown = false;
    await expect.poll(async () => (await limiter.peek('a')).source, { timeout: 20_000 }).toBe('store');
  });
});

describe('POST /v1/hits rejects', () => {
  const PLAN = '["n",[["p","gcra",{"interval":1,"burst":5,"credit":5,"rate":1},5,5,0]],false]';
  const hit = (...changes: [index: number, value: unknown][]): unknown[] => {
    const line: unknown[] = [0, 'take', 'key', 1, 'whole', 0];
    for (const [index, value] of changes) line[index] = value;
    return line;
  };
  const BODIES: readonly unknown[] = [
    null,
    {},
    [],
    [[PLAN]],
    [[1], []],
    [[PLAN], [[]]],
    [[PLAN], [hit([0, 1])]],
    [[PLAN], [hit([0, '__proto__'])]],
    [[PLAN], [hit([1, 'constructor'])]],
    [[PLAN], [hit([2, 7])]],
    [[PLAN], [hit([3, -1])]],
    [[PLAN], [hit([3, 1e300])]],
    [[PLAN], [hit([3, [[1]]])]],
    [[PLAN], [hit([4, 'half'])]],
    [[PLAN], [hit([5, -1])]],
    [[PLAN], [hit([6, 'now'])]],
    [[PLAN], [hit([6, false], [7, false], [8, 3])]],
    [Array.from({ length: 1001 }, () => PLAN), []],
    [[PLAN], Array.from({ length: 1001 }, () => hit())],
    [[PLAN], [hit(), hit()], '', 0, false, true],
    [[PLAN], [hit([1, 'reset'])], '', 0, false, true],
  ];
  const PLANS: readonly string[] = [
    '',
    'null',
    '["n"]',
    '["n",[],false]',
    `["${'n'.repeat(600)}",[["p","gcra",{},1,1,0]],false]`,
    '["n",[["p","unknown",{},1,1,0]],false]',
    '["n",[["p","gcra",null,1,1,0]],false]',
    '["n",[["p","gcra",{"interval":[]},1,1,0]],false]',
    '["n",[["p","gcra",{},1,1,-1]],false]',
    '["n",[["p","gcra",{},1,1,0],["q","gcra",{},1,1,0]],false]',
    '["n",[["p","gcra",{},1,1,0]],"bequeath"]',
    '["n",[["p","calendar-window",{"limit":1,"unit":"aeon","timeZone":"Mars"},1,1,0]],false]',
    `["n",[${Array.from({ length: 100 }, (_, i) => `["p","gcra",{},1,1,${i}]`).join()}],false]`,
    ' '.repeat(20_000),
  ];

  test('every malformed request with problem details, and the server keeps running', async () => {
    const { post, lines } = await remoteServer();
    const send = (body: unknown) => post('/v1/hits', body, { authorization: `Bearer ${TOKEN}` });
    for (const body of BODIES) {
      const response = await send(body);
      expect([response.status, JSON.stringify(body)]).toEqual([400, JSON.stringify(body)]);
      expect(await response.json()).toMatchObject({ type: 'urn:sluice:bad-request', code: 'ERR_OPTIONS' });
    }
    // An invalid plan fails only its own hits.
    for (const plan of PLANS) {
      const response = await send([
        [PLAN, plan],
        [hit([2, plan]), hit([0, 1])],
      ]);
      expect(response.status).toBe(200);
      const [first, second] = (await response.json()) as [unknown[], unknown];
      expect([first[0], plan]).toEqual([true, plan]);
      expect(second).toEqual(expect.any(String));
    }
    // The number of costs differs from the number of policies in the plan.
    expect(await (await send([[PLAN], [hit([3, [1, 2]])]])).json()).toEqual([
      expect.stringContaining('ERR_OPTIONS'),
    ]);
    expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  test('hits of further limiters if the server already keeps the maximum number of limiters', async () => {
    const { post, url } = await remoteServer();
    const named = (name: string) => PLAN.replace('"n"', `"${name}"`);
    for (let i = 0; i < 1000; i += 500) {
      const plans = Array.from({ length: 500 }, (_, j) => named(`n${i + j}`));
      const body = [plans, plans.map((_, j) => hit([0, j]))];
      expect((await post('/v1/hits', body, { authorization: `Bearer ${TOKEN}` })).status).toBe(200);
    }
    await expect(limiterOn(url, 'one too many').take('a')).rejects.toMatchObject({ code: 'ERR_NAME' });
  });
});

test('a custom algorithm is rejected before anything is sent, because the server does not have it', async () => {
  const { url } = await remoteServer();
  const store = remote(url, { token: TOKEN, deadline: '30s', onFailure: 'throw' });
  const policy = gcra({ limit: 1, per: '1h' });
  const own = { ...policy, algorithm: { ...policy.algorithm, name: 'own' } };
  const limiter = createLimiter(own, { store, name: 'own' });
  await expect(limiter.take('a')).rejects.toMatchObject({ code: 'ERR_POLICY' });
  await store.close();
  await expect(createLimiter('1/h', { store, name: 'closed' }).take('a')).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
  });
});

test('--shadow does not change the decisions about hits of remote stores', async () => {
  const { url } = await remoteServer('memory', { shadow: true });
  const limiter = createLimiter('1/h', { store: remote(url, { token: TOKEN }), name: 'shadowed' });
  expect(await limiter.take('alice')).toMatchObject({ allowed: true, source: 'store' });
  expect(await limiter.take('alice')).toMatchObject({ allowed: false, source: 'store' });
});
