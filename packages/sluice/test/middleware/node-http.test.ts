import { connect, constants, createServer, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Outcome } from '../../src/http/index.ts';
import { concurrency, createLimiter } from '../../src/index.ts';
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

describe('node:http2', () => {
  type Options = Parameters<typeof withRateLimit>[0];

  async function serve(options: Options, handler: (response: { end(text: string): unknown }) => void) {
    const server = createServer(withRateLimit(options as never, (_, response) => handler(response)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    return {
      open: () => session.request({ ':path': '/' }),
      close: () => {
        session.destroy();
        server.close();
      },
    };
  }

  it("limits by the client's address and sets headers", async () => {
    const limiter = createLimiter('1/h');
    const { open, close } = await serve(limiter, (response) => response.end('ok'));
    const ask = () =>
      new Promise<readonly [IncomingHttpHeaders & { ':status'?: number }, string]>((resolve) => {
        const stream = open().setEncoding('utf8');
        let [headers, text] = [{}, ''];
        stream.on('response', (got) => (headers = got));
        stream.on('data', (chunk: string) => (text += chunk));
        stream.on('end', () => resolve([headers, text]));
      });
    const [first] = await ask();
    expect(first[':status']).toBe(200);
    expect(first['ratelimit']).toMatch(/^"default";r=0;/);
    expect(limiter.peek('127.0.0.1').remaining).toBe(0);
    const [second, body] = await ask();
    expect(second[':status']).toBe(429);
    expect(second['retry-after']).toMatch(/^\d+$/);
    expect(JSON.parse(body)).toMatchObject({ status: 429 });
    close();
  });

  it.each(['is being checked', 'is being served'])(
    'releases the place of a client that disconnects while its request %s, and reports the request as aborted',
    async (when) => {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
      const outcomes: Outcome[] = [];
      const decisions: ((key: string) => void)[] = [];
      const key = () =>
        when === 'is being checked' ? new Promise<string>((resolve) => void decisions.push(resolve)) : 'k';
      const asked = vi.fn(key);
      const settle = (_: unknown, outcome: Outcome) => void outcomes.push(outcome);
      const { open, close } = await serve({ limiter, key: asked, settle }, () => {});
      const stream = open();
      await expect.poll(() => asked).toHaveBeenCalled();
      const closed = new Promise((resolve) => stream.on('close', resolve));
      stream.close(constants.NGHTTP2_CANCEL);
      await closed;
      // Once the server has answered a later request, it has noticed the disconnect.
      const ping = open();
      await expect.poll(() => asked).toHaveBeenCalledTimes(2);
      ping.close();
      decisions[0]?.('k');
      await expect.poll(() => outcomes[0]).toMatchObject({ aborted: true });
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
      close();
    },
  );
});
