import { beforeAll, vi } from 'vitest';
import { rateLimit, withRateLimit } from '../../src/middleware/node-http.ts';
import { middlewareClaims } from './claims.ts';
import { listen } from './listen.ts';

beforeAll(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
});

middlewareClaims('node:http', (app) => {
  const login = app.login && rateLimit(app.login);
  return listen(
    withRateLimit(app.everywhere, async (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      if (pathname === '/login') {
        if (login !== undefined && !(await login(request, response))) return;
        response.statusCode = Number(searchParams.get('status'));
      }
      if (pathname === '/slow') await app.slow();
      if (pathname === '/fault') response.statusCode = 500;
      app.handled();
      response.end('ok');
    }),
  );
});
