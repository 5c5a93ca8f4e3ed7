import {
  createTRPCClient,
  httpBatchLink,
  httpBatchStreamLink,
  httpLink,
  TRPCClientError,
} from '@trpc/client';
import { initTRPC, TRPCError } from '@trpc/server';
import { observable } from '@trpc/server/observable';
import { type CreateHTTPContextOptions, createHTTPHandler } from '@trpc/server/adapters/standalone';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { concurrency, createLimiter, type Decision, fixedWindow } from '../../src/index.ts';
import { rateLimit } from '../../src/middleware/trpc.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';
import type { AnyOptions, Running } from './claims.ts';
import { listen } from './listen.ts';

const t = initTRPC.context<CreateHTTPContextOptions>().create();

function routerOf(everywhere: AnyOptions, login: AnyOptions, slow: () => Promise<void>) {
  const limited = t.procedure.use(rateLimit(everywhere));
  return t.router({
    hello: limited.query(() => 'hello'),
    login: limited.use(rateLimit(login)).query(() => {
      throw new TRPCError({ code: 'UNAUTHORIZED' });
    }),
    slow: limited.query(slow),
  });
}

const unlimited: AnyOptions = { limiter: createLimiter('1/s'), key: () => false };
const two = () => createLimiter(fixedWindow({ limit: 2, per: '1h' }));

describe('tRPC 11:', () => {
  const cleanups: (() => unknown)[] = [];
  const running: Running[] = [];
  afterEach(async () => {
    for (const clean of cleanups.splice(0)) await clean();
    for (const one of running.splice(0)) await one.close();
  });

  async function serve(everywhere: AnyOptions, login = unlimited, slow = async () => {}) {
    const router = routerOf(everywhere, login, slow);
    const server = await listen(createHTTPHandler({ router, createContext: (options) => options }));
    running.push(server);
    const headers: Headers[] = [];
    const options = {
      url: server.url,
      fetch: async (input: string | URL | Request, init?: unknown) => {
        const response = await fetch(input, init as RequestInit);
        headers.push(response.headers);
        return response;
      },
    };
    return {
      client: createTRPCClient<typeof router>({ links: [httpLink(options)] }),
      batching: createTRPCClient<typeof router>({ links: [httpBatchLink(options)] }),
      streaming: createTRPCClient<typeof router>({ links: [httpBatchStreamLink(options)] }),
      headers,
    };
  }

  const codeOf = async (call: Promise<unknown>) => {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(TRPCClientError);
    return (error as TRPCClientError<ReturnType<typeof routerOf>>).data?.code;
  };

  it("limits by the client's address and rejects with TOO_MANY_REQUESTS and headers", async () => {
    const limiter = two();
    const { client, headers } = await serve({ limiter });
    expect(await client.hello.query()).toBe('hello');
    expect(headers[0]?.get('ratelimit')).toMatch(/^"default";r=1;t=\d+$/);
    await client.hello.query();
    expect(await codeOf(client.hello.query())).toBe('TOO_MANY_REQUESTS');
    expect(headers[2]?.get('retry-after')).toMatch(/^\d+$/);
    expect(limiter.peek('127.0.0.1').remaining).toBe(0);
  });

  it('charges each call of a batch separately', async () => {
    const limiter = two();
    const { batching } = await serve({ limiter, key: () => 'k' });
    const answers = await Promise.allSettled([1, 2, 3].map(() => batching.hello.query()));
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(limiter.peek('k').remaining).toBe(0);
  });

  it('applies two guards to one call, and refunds the charge of the first if the second denies', async () => {
    const [forAll, forLogin] = [two(), createLimiter(fixedWindow({ limit: 1, per: '1h' }))];
    const key = () => 'k';
    const { client } = await serve({ limiter: forAll, key }, { limiter: forLogin, key });
    expect(await codeOf(client.login.query())).toBe('UNAUTHORIZED');
    expect(await codeOf(client.login.query())).toBe('TOO_MANY_REQUESTS');
    expect(forAll.peek('k').remaining).toBe(1);
  });

  it('refunds the charge of the first guard only for the denied call of a batch', async () => {
    const [forAll, forLogin] = [createLimiter('9/h'), createLimiter('1/h')];
    const key = () => 'k';
    const { batching } = await serve({ limiter: forAll, key }, { limiter: forLogin, key });
    await Promise.allSettled([batching.login.query(), batching.hello.query(), batching.login.query()]);
    expect(forAll.peek('k').remaining).toBe(7);
  });

  it('serves a streamed batch whose headers are sent before its calls are checked', async () => {
    const key = () => new Promise<string>((resolve) => setTimeout(() => resolve('k'), 30));
    const { streaming } = await serve({ limiter: two(), key });
    const answers = await Promise.allSettled([1, 2, 3].map(() => streaming.hello.query()));
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });

  it('passes a context on unchanged if it is a class instance', async () => {
    class Session {
      user() {
        return 'alice';
      }
    }
    const own = initTRPC.context<Session>().create();
    const limiter = two();
    const limited = own.procedure.use(rateLimit<Session>({ limiter, key: ({ ctx }) => ctx.user() }));
    const router = own.router({ me: limited.query(({ ctx }) => ctx.user()) });
    expect(await own.createCallerFactory(router)(new Session()).me()).toBe('alice');
    expect(limiter.peek('alice').remaining).toBe(1);
  });

  it('can charge only failed calls', async () => {
    const limiter = two();
    const settle: AnyOptions['settle'] = (_, { status }) => (status === 401 ? 1 : 0);
    const { client } = await serve({ limiter, key: () => 'k', settle });
    await client.hello.query();
    await expect.poll(() => limiter.peek('k').remaining).toBe(2);
    expect(await codeOf(client.login.query())).toBe('UNAUTHORIZED');
    await expect.poll(() => limiter.peek('k').remaining).toBe(1);
  });

  it('releases a held place when the call is done', async () => {
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { client } = await serve({ limiter, key: () => 'k' }, unlimited, () => gate);
    const slow = client.slow.query();
    await expect.poll(() => limiter.peek('k').remaining).toBe(0);
    expect(await codeOf(client.hello.query())).toBe('TOO_MANY_REQUESTS');
    open();
    await slow;
    await expect.poll(() => limiter.peek('k').remaining).toBe(1);
  });

  it('in shadow mode, reports a denial but lets the call pass', async () => {
    const denied: Decision[] = [];
    const { client } = await serve({ limiter: two(), shadow: true, onDenied: (_, one) => denied.push(one) });
    for (let i = 0; i < 3; i++) expect(await client.hello.query()).toBe('hello');
    expect(denied).toHaveLength(1);
  });

  it('rejects with SERVICE_UNAVAILABLE while the store is down, unless onFailure says otherwise', async () => {
    const port = await freePort();
    const connection = new Redis(port, '127.0.0.1', { retryStrategy: () => null, maxRetriesPerRequest: 0 });
    connection.on('error', () => {});
    cleanups.push(() => connection.disconnect());
    // Create all stores before the client gives up, because `redis` rejects a closed client.
    const [thrown, denied, allowed] = (['throw', 'deny', 'allow'] as const).map((onFailure) => ({
      limiter: createLimiter('2/h', { store: redis(connection, { onFailure, deadline: 50 }), name: 'api' }),
    }));
    expect(await codeOf((await serve(thrown)).client.hello.query())).toBe('SERVICE_UNAVAILABLE');
    expect(await codeOf((await serve(denied)).client.hello.query())).toBe('TOO_MANY_REQUESTS');
    expect(await (await serve(allowed)).client.hello.query()).toBe('hello');
  });

  describe('a subscription', () => {
    /** Each subscription yields a value and then waits until the client disconnects or `finish` is called. */
    async function serveStreams(kind: 'iterable' | 'observable') {
      const limiter = createLimiter(concurrency({ limit: 2, lease: '1h' }));
      const finishers: (() => void)[] = [];
      const limited = t.procedure.use(rateLimit({ limiter, key: () => 'k' }));
      const router = t.router({
        iterable: limited.subscription(async function* ({ signal }) {
          yield 'first';
          await new Promise<void>((resolve) => {
            finishers.push(resolve);
            signal?.addEventListener('abort', () => resolve());
          });
        }),
        observable: limited.subscription(() =>
          observable<string>((observer) => {
            observer.next('first');
            finishers.push(() => observer.complete());
          }),
        ),
      });
      const server = await listen(createHTTPHandler({ router, createContext: (options) => options }));
      running.push(server);
      const open = async () => {
        const abort = new AbortController();
        cleanups.push(() => abort.abort());
        const { body } = await fetch(`${server.url}/${kind}`, {
          headers: { accept: 'text/event-stream' },
          signal: abort.signal,
        });
        const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
        let text = '';
        // A denial arrives as an event, because the response has already started.
        while (!/first|TOO_MANY_REQUESTS/.test(text)) {
          const { done, value } = (await reader?.read()) ?? { done: true, value: '' };
          if (done) throw new Error(`the stream ended after ${text}`);
          text += value;
        }
        return { isOpen: text.includes('first'), abort };
      };
      return { limiter, open, finishers };
    }

    it.each(['iterable', 'observable'] as const)('holds its place until its %s ends', async (kind) => {
      const { limiter, open, finishers } = await serveStreams(kind);
      const [first, second] = [await open(), await open()];
      expect([first.isOpen, second.isOpen]).toEqual([true, true]);
      expect([(await open()).isOpen, (await open()).isOpen]).toEqual([false, false]);
      expect(limiter.peek('k').remaining).toBe(0);
      finishers[0]?.();
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
      second.abort.abort();
      await expect.poll(() => limiter.peek('k').remaining).toBe(2);
    });

    it('releases its place if the client disconnects before the first value is read', async () => {
      const limiter = createLimiter(concurrency({ limit: 1, lease: '1h' }));
      const abort = new AbortController();
      async function* values() {
        yield 1;
      }
      const check = rateLimit({ limiter, key: () => 'k' });
      const call = { ctx: {}, path: 'x', type: 'subscription', signal: abort.signal };
      await check({ ...call, next: async () => ({ ok: true, data: values() }) });
      expect(limiter.peek('k').remaining).toBe(0);
      abort.abort();
      await expect.poll(() => limiter.peek('k').remaining).toBe(1);
    });

    it('releases its place exactly once if its iterable throws', async () => {
      const limiter = createLimiter(concurrency({ limit: 2, lease: '1h' }));
      limiter.take('k');
      async function* values() {
        yield 'first';
        throw new Error('fault');
      }
      const check = rateLimit({ limiter, key: () => 'k' });
      const call = { ctx: {}, path: 'x', type: 'subscription' };
      const { data } = await check({ ...call, next: async () => ({ ok: true, data: values() }) });
      await data.next();
      await expect(data.next()).rejects.toThrow('fault');
      await data.return?.(undefined);
      expect(limiter.peek('k').remaining).toBe(1);
    });
  });
});
