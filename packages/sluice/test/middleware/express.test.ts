import express from 'express';
// @ts-expect-error Express 4 under another name has no types of its own.
import express4 from 'express4';
import { rateLimit } from '../../src/middleware/express.ts';
import { type App, middlewareClaims } from './claims.ts';
import { running } from './listen.ts';

const starter = (framework: typeof express) => (app: App) => {
  const server = framework();
  server.use(rateLimit(app.everywhere));
  if (app.login !== undefined) server.use('/login', rateLimit(app.login));
  server.get('/', (_, response) => {
    app.handled();
    response.send('ok');
  });
  server.get('/login', (request, response) => {
    response.status(Number(request.query['status'])).send('login');
  });
  server.get('/slow', async (_, response) => {
    await app.slow();
    response.send('slow');
  });
  server.get('/fault', () => {
    throw new Error('fault');
  });
  return running(server.listen(0, '127.0.0.1'));
};

middlewareClaims('Express 5', starter(express));
middlewareClaims('Express 4', starter(express4 as unknown as typeof express));
