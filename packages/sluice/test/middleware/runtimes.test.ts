/**
 * Runs Hono and plain fetch handlers on Bun and Deno, which run the sources directly.
 * Needs the devDependencies `bun` and `deno`; if they are missing, the tests fail instead of being skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** The folder is inside the repository, so that 'hono' can be resolved. */
const workshop = join(root, `.build/runtimes-${process.pid}`);
const source = (path: string) => JSON.stringify(join(root, 'packages/sluice/src', path));

const HANDLERS = {
  Hono: `
    import { Hono } from 'hono';
    import { rateLimit } from ${source('middleware/hono.ts')};
    const app = new Hono();
    app.get('/slot', rateLimit(oneSlot), (context) => context.body(unending()));
    app.use(rateLimit(limiter));
    app.get('/', (context) => context.text('ok'));
    const handler = app.fetch;`,
  fetch: `
    import { withRateLimit } from ${source('middleware/fetch.ts')};
    const limited = withRateLimit(limiter, () => new Response('ok'));
    const slot = withRateLimit(oneSlot, () => new Response(unending()));
    const handler = (request, context) => (request.url.endsWith('/slot') ? slot : limited)(request, context);`,
};

const SERVERS = {
  bun: {
    args: ['run'],
    serve: `
      const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: handler });
      console.log('port ' + port);`,
  },
  deno: {
    args: ['run', '--no-check', '--allow-all'],
    serve: `
      Deno.serve(
        { port: 0, hostname: '127.0.0.1', onListen: ({ port }) => console.log('port ' + port) },
        handler,
      );`,
  },
};

const LIMITER = `
  import { concurrency, createLimiter, fixedWindow } from ${source('index.ts')};
  const limiter = createLimiter({ hour: fixedWindow({ limit: 2, per: '1h' }) });
  const { take } = limiter;
  limiter.take = (key, options) => { console.log('key ' + key); return take(key, options); };
  const oneSlot = {
    limiter: createLimiter(concurrency({ limit: 1, lease: '1h' })),
    settle: (_, { aborted }) => console.log('settled, aborted: ' + aborted),
  };
  const unending = () =>
    new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('begin')) });
`;

const rows = Object.entries(SERVERS).flatMap(([runtime, server]) =>
  Object.entries(HANDLERS).map(([name, handler]) => ({ runtime, name, handler, ...server })),
);

describe.each(rows)('$name on $runtime:', ({ runtime, name, handler, args, serve }) => {
  let child: ChildProcess;
  let url: string;
  let printed = '';

  beforeAll(async () => {
    const binary = join(root, 'node_modules/.bin', runtime);
    if (!existsSync(binary)) throw new Error(`${binary} is missing`);
    mkdirSync(workshop, { recursive: true });
    const file = join(workshop, `${runtime}-${name}.ts`);
    writeFileSync(file, `${LIMITER}${handler}${serve}`);
    child = spawn(binary, [...args, file], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    url = await new Promise((resolve, reject) => {
      const read = (chunk: unknown): void => {
        printed += String(chunk);
        const [, port] = /port (\d+)\s/.exec(printed) ?? [];
        if (port !== undefined) resolve(`http://127.0.0.1:${port}/`);
      };
      child.stdout?.on('data', read);
      child.stderr?.on('data', read);
      child.on('exit', () => reject(new Error(`${runtime} ended, having printed:\n${printed}`)));
    });
  }, 60_000);
  afterAll(() => {
    child?.kill('SIGKILL');
    rmSync(workshop, { recursive: true, force: true });
  });

  it("sets headers, limits by the connection's address and answers 429 over the limit", async () => {
    const get = () => fetch(url, { headers: { connection: 'close' } });
    const first = await get();
    expect(await first.text()).toBe('ok');
    expect(first.headers.get('ratelimit')).toMatch(/^"hour";r=1;t=\d+$/);
    // Printed output may arrive after the response.
    await expect.poll(() => printed).toContain('key 127.0.0.1');
    expect((await get()).status).toBe(200);
    const third = await get();
    expect(third.status).toBe(429);
    expect(third.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(third.headers.get('content-type')).toBe('application/problem+json');
  });

  it('frees the place of a connection that is reset during a response, and settles the request once', async () => {
    const { port } = new URL(url);
    for (let times = 1; times <= 3; times++) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write('GET /slot HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2));
      const [head] = (await once(socket, 'data')) as [Buffer];
      expect(head.toString()).toMatch(/^HTTP\/1\.1 200/);
      socket.resetAndDestroy();
      await expect.poll(() => printed.match(/settled, aborted: true/g)?.length).toBe(times);
    }
    expect(printed).not.toContain('settled, aborted: false');
  });
});
