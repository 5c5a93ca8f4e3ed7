import { serve } from '@hono/node-server';
import { rateLimit, withRateLimit } from '../../src/middleware/fetch.ts';
import { middlewareClaims } from './claims.ts';
import { running } from './listen.ts';

middlewareClaims('fetch', (app) => {
  const login = app.login && rateLimit(app.login);
  const fetch = withRateLimit(app.everywhere, async (request: Request, _: object) => {
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
