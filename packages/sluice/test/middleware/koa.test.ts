import Koa from 'koa';
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
