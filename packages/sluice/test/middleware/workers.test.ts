/** Runs Hono and plain fetch handlers on Cloudflare Workers, with a bundle of the sources in workerd. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const source = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}`, import.meta.url)));

const LIMITERS = `
  import { concurrency, createLimiter, fixedWindow } from ${source('index.ts')};
  const rate = createLimiter({ hour: fixedWindow({ limit: 2, per: '1h' }) });
  const atOnce = createLimiter(concurrency({ limit: 1, lease: '1m' }));
  const left = () => rate.peek('203.0.113.7').remaining + ' ' + atOnce.peek('k').remaining;
  const options = { limiter: rate, limits: [{ limiter: atOnce, key: () => 'k' }] };
`;

const WORKERS = {
  Hono: `${LIMITERS}
    import { Hono } from 'hono';
    import { rateLimit } from ${source('middleware/hono.ts')};
    const app = new Hono();
    app.get('/left', (context) => context.text(left()));
    app.use(rateLimit(options));
    app.get('/', (context) => context.text('ok'));
    export default app;`,
  fetch: `${LIMITERS}
    import { withRateLimit } from ${source('middleware/fetch.ts')};
    const limited = withRateLimit(options, () => new Response('ok'));
    export default {
      fetch: (request, env, context) =>
        new URL(request.url).pathname === '/left' ? new Response(left()) : limited(request, env, context),
    };`,
};

describe.each(Object.entries(WORKERS))('%s on Workers:', (_, contents) => {
  let worker: Miniflare;
  beforeAll(async () => {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
      bundle: true,
      write: false,
      format: 'esm',
      // The bundle must not import anything that Workers do not have.
      platform: 'neutral',
      mainFields: ['module', 'main'],
      target: 'es2022',
    });
    worker = new Miniflare({
      modules: true,
      script: outputFiles[0]?.text ?? '',
      compatibilityDate: '2026-01-01',
      port: 0,
    });
    await worker.ready;
  }, 60_000);
  afterAll(() => worker.dispose());

  /** A request as Cloudflare's proxy would send it. */
  async function get(path = '/'): Promise<Response> {
    const headers = { 'cf-connecting-ip': '203.0.113.7', connection: 'close' };
    return fetch(new URL(path, await worker.ready), { headers });
  }
  const left = async () => (await get('/left')).text();

  it('sets headers, limits by cf-connecting-ip and answers 429 over the limit', async () => {
    const first = await get();
    expect(await first.text()).toBe('ok');
    expect(first.headers.get('ratelimit-policy')).toBe('"hour";q=2;w=3600,"default";q=1;w=60');
    expect(first.headers.get('ratelimit')).toMatch(/^"hour";r=1;t=\d+,"default";r=0;t=\d+$/);
    expect(await left()).toBe('1 1');
    expect((await get()).status).toBe(200);
    const third = await get();
    expect(third.status).toBe(429);
    expect(third.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(third.headers.get('content-type')).toBe('application/problem+json');
    expect(await third.json()).toMatchObject({ status: 429, 'violated-policies': ['hour'] });
    expect(await left()).toBe('0 1');
  });
});
