import express from 'express';
// @ts-expect-error The alias for Express 4 has no types.
import express4 from 'express4';
import { describe, expect, it, vi } from 'vitest';
import { createLimiter } from '../../src/index.ts';
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
middlewareClaims('Express 4', starter(express4));

describe('Express:', () => {
  it('sets the headers on responses of error handlers', async () => {
    const server = express();
    server.use(rateLimit(createLimiter('5/h')));
    server.get('/', () => {
      throw new Error('fault');
    });
    server.use(((_error, _request, response, _next) => {
      response.status(418).send('teapot');
    }) as express.ErrorRequestHandler);
    const app = await running(server.listen(0, '127.0.0.1'));
    const response = await fetch(app.url, { headers: { connection: 'close' } });
    await app.close();
    expect(response.status).toBe(418);
    expect(response.headers.get('ratelimit')).toMatch(/^"default";r=4;/);
  });

  it('calls `next` only once, even if it throws, and passes the error on', () => {
    const next = vi.fn(() => {
      throw new Error('handler');
    });
    const response = { headersSent: false, destroyed: false, setHeader() {} } as never;
    const limit = rateLimit({ limiter: createLimiter('5/h'), key: () => 'k' });
    expect(() => limit({} as never, response, next)).toThrow('handler');
    expect(next).toHaveBeenCalledOnce();
  });
});
