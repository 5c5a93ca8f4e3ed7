import Koa from 'koa';
import { expect, it } from 'vitest';
import { createLimiter } from '../../src/index.ts';
import { rateLimit } from '../../src/middleware/koa.ts';
import { middlewareClaims } from './claims.ts';
import { running } from './listen.ts';

middlewareClaims('Koa 3', (app) => {
  const server = new Koa();
  server.silent = true;
  server.use(rateLimit(app.everywhere));
  const login = app.login && rateLimit<Koa.Context>(app.login);
  if (login !== undefined)
    server.use((context, next) => (context.path === '/login' ? login(context, next) : next()));
  server.use(async (context) => {
    app.handled();
    if (context.path === '/login') context.status = Number(context.query['status']);
    if (context.path === '/slow') await app.slow();
    if (context.path === '/fault') throw new Error('fault');
    context.body = 'ok';
  });
  return running(server.listen(0, '127.0.0.1'));
});

it('Koa: outer middlewares receive a denial like any other response, and may change it', async () => {
  const seen: unknown[] = [];
  const server = new Koa();
  server.use(async (context, next) => {
    await next();
    seen.push(context.status, context.type, JSON.parse(String(context.body)));
    context.set('X-Seen', 'yes');
  });
  server.use(rateLimit({ limiter: createLimiter('1/h'), cost: 2 }));
  const app = await running(server.listen(0, '127.0.0.1'));
  const response = await fetch(app.url, { headers: { connection: 'close' } });
  await app.close();
  expect(response.status).toBe(429);
  expect(response.headers.get('x-seen')).toBe('yes');
  expect(seen).toEqual([429, 'application/problem+json', await response.json()]);
});
