import type { AddressInfo } from 'node:net';
import express from 'express';
// @ts-expect-error Express 4 under another name has no types of its own.
import express4 from 'express4';
import { rateLimit } from '../../src/middleware/express.ts';
import { type App, middlewareClaims, type Running } from './claims.ts';

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
  return new Promise<Running>((resolve) => {
    const listener = server.listen(0, '127.0.0.1', () => {
      const { port } = listener.address() as AddressInfo;
      resolve({
        url: `http://127.0.0.1:${port}`,
        close: async () => {
          listener.closeAllConnections();
          listener.close();
        },
      });
    });
  });
};

middlewareClaims('Express 5', starter(express));
middlewareClaims('Express 4', starter(express4 as unknown as typeof express));
