import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { requestId } from 'hono/request-id';
import { describe, expect, it } from 'vitest';
import { concurrency, createLimiter, fixedWindow } from '../../src/index.ts';
import { rateLimit } from '../../src/middleware/hono.ts';
import { middlewareClaims } from './claims.ts';
import { running } from './listen.ts';

middlewareClaims('Hono 4', (app) => {
  const server = new Hono();
  server.onError((_, context) => context.text('fault', 500));
  server.use(rateLimit(app.everywhere));
  if (app.login !== undefined) server.use('/login', rateLimit(app.login));
  server.get('/', (context) => {
    app.handled();
    return context.text('ok');
  });
  server.get('/login', (context) => context.text('login', Number(context.req.query('status')) as 200));
  server.get('/slow', async (context) => {
    await app.slow();
    return context.text('slow');
  });
  server.get('/fault', () => {
    throw new Error('fault');
  });
  return running(
    serve({ fetch: server.fetch, port: 0, hostname: '127.0.0.1' }) as import('node:http').Server,
  );
});

describe('Hono:', () => {
  const env = { incoming: { socket: { remoteAddress: '192.0.2.1' } } };
  const two = (name: string) => createLimiter({ [name]: fixedWindow({ limit: 2, per: '1h' }) });

  it.each([
    ['that the handler created', () => new Response('raw')],
    ['with immutable headers', () => Response.redirect('http://localhost/', 302)],
    ['with headers of another limiter', () => new Response('raw', { headers: { RateLimit: '"other";r=9' } })],
  ])('sets the headers of all guards on a response %s', async (_, respond) => {
    const app = new Hono();
    app.use(rateLimit(two('outer')));
    app.use(rateLimit(two('inner')));
    app.get('/', respond);
    const { headers } = await app.request('/', undefined, env);
    expect(headers.get('ratelimit')).toMatch(/^"outer";r=1;t=\d+,"inner";r=1;t=\d+$/);
  });

  it('keeps the headers of outer middlewares on a denial', async () => {
    const app = new Hono();
    app.use(requestId());
    app.use(rateLimit({ limiter: two('a'), cost: 3 }));
    const response = await app.request('/', undefined, env);
    expect(response.status).toBe(429);
    expect(response.headers.get('x-request-id')).toMatch(/./);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  it('releases the held place if the handler throws a value that is not an Error', async () => {
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    const app = new Hono();
    app.use(rateLimit({ limiter, key: () => 'k' }));
    app.get('/', () => {
      // oxlint-disable-next-line typescript/only-throw-error -- the middleware must handle any thrown value
      throw 'text';
    });
    await expect(Promise.resolve(app.request('/'))).rejects.toBe('text');
    await expect.poll(() => limiter.peek('k').remaining).toBe(1);
  });

  it('answers 500 and passes the reason to the error handler if the platform provides no client address', async () => {
    const errors: Error[] = [];
    const app = new Hono();
    app.onError((error, context) => {
      errors.push(error);
      return context.text('fault', 500);
    });
    app.use(rateLimit(two('a')));
    expect((await app.request('/')).status).toBe(500);
    expect(errors).toMatchObject([{ code: 'ERR_ADDRESS' }]);
  });
});
