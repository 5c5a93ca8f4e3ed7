import { serve } from '@hono/node-server';
import { expect, it } from 'vitest';
import { concurrency, createLimiter } from '../../src/index.ts';
import { rateLimit, withRateLimit } from '../../src/middleware/fetch.ts';
import { middlewareClaims } from './claims.ts';
import { running } from './listen.ts';

middlewareClaims('fetch', (app) => {
  const login = app.login && rateLimit(app.login);
  const fetch = withRateLimit(app.everywhere, async (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/slow') await app.slow();
    if (pathname === '/fault') throw new Error('fault');
    app.handled();
    if (pathname !== '/login') return new Response('ok');
    const checked = await login?.(request);
    if (checked?.refusal !== undefined) return checked.refusal;
    const response = new Response('login', { status: Number(searchParams.get('status')) });
    return checked?.finish(response) ?? response;
  });
  return running(serve({ fetch, port: 0, hostname: '127.0.0.1' }) as import('node:http').Server);
});

it.each([
  ['whose headers are immutable', Response.redirect('http://localhost/', 302), 302],
  ['without a body', new Response(null, { status: 204 }), 204],
])('fetch: sets the headers on a response %s', async (_, answer, status) => {
  const handler = withRateLimit({ limiter: createLimiter('5/h'), key: () => 'k' }, () => answer);
  const response = await handler(new Request('http://localhost/'));
  expect(response.status).toBe(status);
  expect(response.headers.get('ratelimit')).toMatch(/^"default";r=4;/);
});

it('fetch: passes an error response on unchanged', async () => {
  const handler = withRateLimit({ limiter: createLimiter('5/h'), key: () => 'k' }, () => Response.error());
  expect((await handler(new Request('http://localhost/'))).type).toBe('error');
});

it('fetch: releases the held place if the client disconnects during the key lookup', async () => {
  const limiter = createLimiter(concurrency({ limit: 1, lease: '1h' }));
  const client = new AbortController();
  const key = async (): Promise<string> => {
    client.abort();
    return 'k';
  };
  const handler = withRateLimit({ limiter, key }, () => new Response('never read'));
  await handler(new Request('http://localhost/', { signal: client.signal }));
  await new Promise((resolve) => setImmediate(resolve));
  expect(limiter.peek('k').remaining).toBe(1);
});
