import { once } from 'node:events';
import { connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { concurrency, createLimiter, type Decision, fixedWindow, memory } from '../../src/index.ts';
import { rateLimit } from '../../src/middleware/fastify.ts';
import { manualClock } from '../../src/testing/index.ts';
import { type App, middlewareClaims } from './claims.ts';

middlewareClaims('Fastify 5', async (app: App) => {
  const server = fastify();
  await server.register(rateLimit, app.everywhere);
  server.get('/', async () => {
    app.handled();
    return 'ok';
  });
  const config: object = app.login === undefined ? {} : { rateLimit: app.login };
  server.get<{ Querystring: { status: string } }>('/login', { config }, async (request, reply) =>
    reply.code(Number(request.query.status)).send('login'),
  );
  server.get('/slow', async () => {
    await app.slow();
    return 'slow';
  });
  server.get('/fault', async () => {
    throw new Error('fault');
  });
  const url = await server.listen({ port: 0, host: '127.0.0.1' });
  return {
    url,
    close: async () => {
      server.server.closeAllConnections();
      await server.close();
    },
  };
});

describe('the Fastify plugin', () => {
  const servers: FastifyInstance[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.server.closeAllConnections();
      await server.close();
    }
  });

  function serve() {
    const server = fastify();
    servers.push(server);
    const status = async (url: string) => (await server.inject(url)).statusCode;
    return { server, status };
  }

  const perHour = (limit: number, name = 'default') =>
    createLimiter(
      { [name]: fixedWindow({ limit, per: '1m' }) },
      { store: memory({ clock: manualClock(0) }) },
    );

  it('at the root covers routes that were defined before the plugin had loaded, nested routes, and 404s', async () => {
    const { server, status } = serve();
    server.register(rateLimit, { limiter: perHour(4) });
    server.get('/early', async () => 'early');
    server.register(async (child) => child.get('/below', async () => 'below'));
    for (const path of ['/early', '/below', '/early']) expect(await status(path)).toBe(200);
    expect(await status('/nowhere')).toBe(404);
    for (const path of ['/early', '/below', '/nowhere']) expect(await status(path)).toBe(429);
  });

  it('in a child context limits only that context', async () => {
    const { server, status } = serve();
    server.get('/free', async () => 'free');
    server.register(async (child) => {
      child.register(rateLimit, { limiter: perHour(1) });
      child.get('/limited', async () => 'limited');
    });
    expect(await status('/limited')).toBe(200);
    expect(await status('/limited')).toBe(429);
    for (let i = 0; i < 3; i++) expect(await status('/free')).toBe(200);
  });

  it('in a child context applies in addition to the plugin of the outer context, and if it denies, refunds the charge of the outer plugin', async () => {
    const { server, status } = serve();
    const [outer, inner] = [perHour(5, 'outer'), perHour(1, 'inner')];
    server.register(rateLimit, { limiter: outer, key: () => 'k' });
    server.register(async (child) => {
      child.register(rateLimit, { limiter: inner, key: () => 'k' });
      child.get('/inner', async () => 'inner');
    });
    const first = await server.inject('/inner');
    expect(first.headers['ratelimit']).toBe('"outer";r=4;t=60,"inner";r=0;t=60');
    expect(await status('/inner')).toBe(429);
    expect(outer.peek('k').remaining).toBe(4);
  });

  it("charges a route's own limits once if two instances of the plugin check the route", async () => {
    const { server, status } = serve();
    const [outer, inner, own] = [perHour(9), perHour(9), perHour(9)];
    const key = () => 'k';
    server.register(rateLimit, { limiter: outer, key });
    server.register(async (child) => {
      child.register(rateLimit, { limiter: inner, key });
      child.get('/', { config: { rateLimit: { limiter: own, key, cost: 2 } } }, async () => 'ok');
    });
    expect(await status('/')).toBe(200);
    expect([outer, inner, own].map((one) => one.peek('k').remaining)).toEqual([8, 8, 7]);
  });

  it("charges nothing if a route's limit denies", async () => {
    const { server, status } = serve();
    const [forAll, a, b] = [perHour(9), perHour(9), perHour(1)];
    const limits = [
      { limiter: a, key: () => 'k' },
      { limiter: b, key: () => 'k' },
    ];
    await server.register(rateLimit, { limiter: forAll, key: () => 'k' });
    server.get('/', { config: { rateLimit: { limits } } }, async () => 'ok');
    for (const expected of [200, 429, 429]) expect(await status('/')).toBe(expected);
    expect([forAll, a, b].map((one) => one.peek('k').remaining)).toEqual([8, 8, 0]);
  });

  it('exempts a route whose config is `false`, and limits by address if the config is a limiter', async () => {
    const { server, status } = serve();
    const own = perHour(5);
    server.register(rateLimit, { limiter: perHour(1) });
    server.get('/health', { config: { rateLimit: false } }, async () => 'well');
    server.get('/own', { config: { rateLimit: own } }, async () => 'own');
    for (let i = 0; i < 3; i++) expect(await status('/health')).toBe(200);
    for (const expected of [200, 429]) expect(await status('/own')).toBe(expected);
    expect(own.peek('127.0.0.1').remaining).toBe(4);
  });

  it('with global: false limits only routes with a config, and a config of {} applies the limits of the plugin', async () => {
    const { server, status } = serve();
    server.register(rateLimit, { limiter: perHour(1), global: false });
    server.get('/free', async () => 'free');
    server.get('/limited', { config: { rateLimit: {} } }, async () => 'limited');
    for (let i = 0; i < 3; i++) expect(await status('/free')).toBe(200);
    for (const expected of [200, 429]) expect(await status('/limited')).toBe(expected);
  });

  it('with global: false needs no limiter of its own', async () => {
    const { server, status } = serve();
    await server.register(rateLimit, { global: false });
    server.get('/', { config: { rateLimit: { limiter: perHour(1) } } }, async () => 'ok');
    for (const expected of [200, 429]) expect(await status('/')).toBe(expected);
  });

  it.each(['preParsing', 'preValidation', 'preHandler'] as const)(
    'checks requests in the %s hook, after earlier hooks have run',
    async (hook) => {
      const { server } = serve();
      const limiter = perHour(5);
      server.decorateRequest('user', '');
      server.addHook('onRequest', async (request) => {
        (request as unknown as { user: string }).user = 'alice';
      });
      await server.register(rateLimit, {
        limiter,
        hook,
        key: (request) => (request as unknown as { user: string }).user,
      });
      server.post('/', async (request) => request.body);
      const response = await server.inject({ method: 'POST', url: '/', payload: { a: 1 } });
      expect(response.json()).toEqual({ a: 1 });
      expect(limiter.peek('alice').remaining).toBe(4);
    },
  );

  it('attaches the decision to the request', async () => {
    const { server } = serve();
    const seen: (Decision | undefined)[] = [];
    server.register(rateLimit, { limiter: perHour(5) });
    server.get('/', async (request) => {
      seen.push(request.rateLimit);
      return 'ok';
    });
    await server.inject('/');
    expect(seen).toMatchObject([{ allowed: true, remaining: 4 }]);
  });

  it('releases the held place of an injected request', async () => {
    const { server, status } = serve();
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    server.register(rateLimit, { limiter, key: () => 'k' });
    server.get('/', async () => `${limiter.peek('k').remaining}`);
    for (let i = 0; i < 3; i++) expect((await server.inject('/')).body).toBe('0');
    expect(await status('/')).toBe(200);
  });

  it('releases the place of a client that disconnects during the key lookup, without calling the handler', async () => {
    const { server } = serve();
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    const [leaving, ended, handled] = [new AbortController(), vi.fn(), vi.fn()];
    server.register(rateLimit, {
      limiter,
      key: ({ raw }) => {
        leaving.abort();
        return new Promise((found) => raw.socket.once('close', () => setImmediate(found, 'k')));
      },
      settle: (_, outcome) => ended(outcome),
    });
    server.get('/', async () => handled());
    const url = await server.listen({ port: 0, host: '127.0.0.1' });
    await expect(fetch(url, { headers: { connection: 'close' }, signal: leaving.signal })).rejects.toThrow(
      /abort/i,
    );
    await expect.poll(() => ended).toHaveBeenCalledWith({ status: 200, aborted: true });
    await expect.poll(() => limiter.peek('k').remaining).toBe(1);
    expect(handled).not.toHaveBeenCalled();
  });

  it('works over HTTP/2', async () => {
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    const server = fastify({ http2: true });
    server.register(rateLimit, { limiter, key: () => 'k' });
    server.get('/', async () => `${limiter.peek('k').remaining}`);
    const client = connect(await server.listen({ port: 0, host: '127.0.0.1' }));
    for (let i = 0; i < 2; i++) {
      const stream = client.request({ ':path': '/' });
      const [headers] = await once(stream, 'response');
      expect(headers).toMatchObject({ ':status': 200, 'ratelimit-policy': '"default";q=1;w=60' });
      expect(await text(stream)).toBe('0');
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
    }
    client.destroy();
    await server.close();
  });

  it('runs the onSend hooks for a denial after the headers of the denial are set', async () => {
    const { server } = serve();
    server.register(rateLimit, { limiter: perHour(1), cost: 2 });
    server.addHook('onSend', async (_, reply) => {
      reply.header('seen', reply.getHeader('ratelimit'));
    });
    server.get('/', async () => 'ok');
    const response = await server.inject('/');
    expect(response.statusCode).toBe(429);
    expect(response.headers['seen']).toBe('"default";r=1;t=0');
    expect(response.json()).toMatchObject({ status: 429 });
  });

  it.each([
    ['an unknown option', { limitr: perHour(1) }, /limitr is not an option here/],
    ['a missing limiter', {}, /limiter is required/],
    ['an unknown hook', { limiter: perHour(1), hook: 'onSnd' }, /onSnd/],
  ])('fails to load with %s', async (_, options, message) => {
    const { server } = serve();
    server.register(rateLimit, options as never);
    await expect(server.ready()).rejects.toThrow(message);
  });

  it.each([
    ['no limiter', {}, /limiter/],
    ['an option of the plugin', { limiter: perHour(1), status: 420 }, /status is not an option here/],
    ['a string as config', 'yes', /must be an object with options/],
  ])('rejects a route with %s when the route is defined', async (_, config, message) => {
    const { server } = serve();
    await server.register(rateLimit, { global: false });
    expect(() => server.get('/', { config: { rateLimit: config as never } }, async () => 'ok')).toThrow(
      message,
    );
  });
});
