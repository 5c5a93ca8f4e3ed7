import { serve } from '@hono/node-server';
import { Hono } from 'hono';
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
