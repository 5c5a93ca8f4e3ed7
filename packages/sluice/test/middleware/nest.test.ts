/** These tests call decorators as functions instead of using decorator syntax, so that they need no compiler option. */
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Catch,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Module,
  Query,
  Res,
  UseFilters,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core';
import { GraphQLModule, Query as Field, Resolver } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { WsAdapter } from '@nestjs/platform-ws';
import { MessageBody, SubscribeMessage, WebSocketGateway, WsException } from '@nestjs/websockets';
import { afterEach, describe, expect, it, vi } from 'vitest';
import WebSocket from 'ws';
import { concurrency, createLimiter, fixedWindow, type Limiter, memory } from '../../src/index.ts';
import {
  type NestRateLimitOptions,
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitInterceptor,
  RateLimitModule,
  requestOf,
  SkipRateLimit,
} from '../../src/middleware/nest/nest.ts';
import { manualClock } from '../../src/testing/index.ts';
import { type App, middlewareClaims, type Running } from './claims.ts';

type Class = abstract new (...args: never[]) => object;

function on(type: Class, name: string, ...decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, name) as PropertyDescriptor;
  for (const decorator of decorators.toReversed()) decorator(type.prototype, name, descriptor);
}

interface Parts {
  readonly imports?: readonly unknown[];
  readonly controllers?: readonly Class[];
  readonly providers?: readonly unknown[];
}

async function start(parts: Parts, adapter: ExpressAdapter | FastifyAdapter): Promise<INestApplication> {
  class Root {}
  Module(parts as object)(Root);
  const app = await NestFactory.create(Root, adapter, { logger: false, abortOnError: false });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  return app;
}

function portOf(app: INestApplication): number {
  return (app.getHttpServer().address() as AddressInfo).port;
}

const ADAPTERS = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter()],
] as const;

for (const [name, adapter] of ADAPTERS) {
  middlewareClaims(`Nest on ${name}`, async (app: App): Promise<Running> => {
    class Routes {
      root() {
        app.handled();
        return 'ok';
      }
      login(status: string, response: { status(code: number): unknown }) {
        response.status(Number(status));
        return 'login';
      }
      async slow() {
        await app.slow();
        return 'slow';
      }
      fault() {
        throw new Error('fault');
      }
    }
    Controller()(Routes);
    on(Routes, 'root', Get());
    on(Routes, 'login', Get('login'));
    Query('status')(Routes.prototype, 'login', 0);
    Res({ passthrough: true })(Routes.prototype, 'login', 1);
    if (app.login !== undefined) on(Routes, 'login', RateLimit(app.login));
    on(Routes, 'slow', Get('slow'));
    on(Routes, 'fault', Get('fault'));
    const imports = [RateLimitModule.forRoot(app.everywhere)];
    const nest = await start({ imports, controllers: [Routes] }, adapter());
    return {
      url: `http://127.0.0.1:${portOf(nest)}`,
      close: async () => {
        nest.getHttpServer().closeAllConnections();
        await nest.close();
      },
    };
  });
}

const perHour = (limit: number, name = 'default') =>
  createLimiter({ [name]: fixedWindow({ limit, per: '1m' }) }, { store: memory({ clock: manualClock(0) }) });
const key = () => 'k';

describe.each(ADAPTERS)('the Nest module on %s', (_, adapter) => {
  const apps: INestApplication[] = [];
  afterEach(async () => {
    for (const app of apps.splice(0)) {
      app.getHttpServer().closeAllConnections();
      await app.close();
    }
  });

  async function serve(parts: Parts) {
    const app = await start(parts, adapter());
    apps.push(app);
    const get = (path: string, signal: AbortSignal | null = null) =>
      fetch(`http://127.0.0.1:${portOf(app)}${path}`, { headers: { connection: 'close' }, signal });
    return {
      get,
      statuses: async (...paths: string[]) => {
        const found: number[] = [];
        for (const path of paths) found.push((await get(path)).status);
        return found;
      },
    };
  }

  /** A controller with the handlers a, b and c. */
  function controller(): Class {
    class Letters {
      a() {
        return 'a';
      }
      b() {
        return 'b';
      }
      c() {
        return 'c';
      }
    }
    Controller()(Letters);
    for (const name of ['a', 'b', 'c']) on(Letters, name, Get(name));
    return Letters;
  }

  it('checks the limits of the module, of a class and of a handler together, in one decision', async () => {
    const [forAll, forClass, forA] = [perHour(9), perHour(9), perHour(1)];
    const Letters = controller();
    RateLimit({ limiter: forClass, key })(Letters);
    on(Letters, 'a', RateLimit({ limiter: forA, key }));
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({ limiter: forAll, key })],
      controllers: [Letters],
    });
    expect(await statuses('/a', '/a', '/a', '/b')).toEqual([200, 429, 429, 200]);
    expect([forAll, forClass, forA].map((one) => one.peek('k').remaining)).toEqual([7, 7, 0]);
  });

  it('applies all of several decorators on one handler', async () => {
    const [first, second, third] = [perHour(9), perHour(9), perHour(9)];
    const Letters = controller();
    on(
      Letters,
      'a',
      RateLimit({ limiter: first, key }, { limiter: second, key }),
      RateLimit({ limiter: third, key, cost: 2 }),
    );
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({})],
      controllers: [Letters],
    });
    expect(await statuses('/a')).toEqual([200]);
    expect([first, second, third].map((one) => one.peek('k').remaining)).toEqual([8, 8, 7]);
  });

  it('lets a controller inherit the limits of its base class, without changing the base class', async () => {
    const [base, derived] = [perHour(9), perHour(9)];
    const Letters = controller();
    RateLimit({ limiter: base, key })(Letters);
    class More extends (Letters as new () => object) {}
    Controller('more')(More);
    RateLimit({ limiter: derived, key })(More);
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({})],
      controllers: [Letters, More],
    });
    expect(await statuses('/a', '/more/a')).toEqual([200, 200]);
    expect([base, derived].map((one) => one.peek('k').remaining)).toEqual([7, 8]);
  });

  it('exempts handlers with SkipRateLimit from all limits, and lets a decorator on a handler override the decorator of its class', async () => {
    const Letters = controller();
    SkipRateLimit()(Letters);
    on(Letters, 'b', SkipRateLimit(false));
    on(Letters, 'c', RateLimit({ limiter: perHour(1), cost: 2 }));
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({ limiter: perHour(1) })],
      controllers: [Letters],
    });
    expect(await statuses('/a', '/a', '/c', '/c', '/b', '/b', '/a')).toEqual([
      200, 200, 200, 200, 200, 429, 200,
    ]);
  });

  it('charges once if the guard is bound globally, by APP_GUARD and to the handler', async () => {
    const limiter = perHour(9);
    const Letters = controller();
    on(Letters, 'a', UseGuards(RateLimitGuard));
    const { statuses } = await serve({
      imports: [RateLimitModule.forRoot({ limiter, key })],
      controllers: [Letters],
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    });
    expect(await statuses('/a', '/b')).toEqual([200, 200]);
    expect(limiter.peek('k').remaining).toBe(7);
  });

  it('with global: false limits only handlers that use the guard, even if the options come from a factory', async () => {
    const Letters = controller();
    on(Letters, 'a', UseGuards(RateLimitGuard));
    const LIMITER = Symbol('limiter');
    class Limits {}
    Module({ providers: [{ provide: LIMITER, useValue: perHour(1) }], exports: [LIMITER] })(Limits);
    const { statuses } = await serve({
      imports: [
        RateLimitModule.forRootAsync({
          global: false,
          imports: [Limits],
          inject: [LIMITER],
          useFactory: async (limiter: ReturnType<typeof perHour>): Promise<NestRateLimitOptions> => ({
            limiter,
          }),
        }),
      ],
      controllers: [Letters],
    });
    expect(await statuses('/a', '/a', '/b', '/b')).toEqual([200, 429, 200, 200]);
  });

  it('passes a denial to exception filters, which may answer it themselves', async () => {
    class Calm {
      catch(exception: RateLimitException, host: ExecutionContext) {
        const response = host.switchToHttp().getResponse();
        const { code, retryAfter } = exception.extensions;
        response.status(420).send({ code, retryAfter, policy: exception.decision?.policy });
      }
    }
    Catch(RateLimitException)(Calm);
    const { get } = await serve({
      imports: [RateLimitModule.forRoot({ limiter: perHour(1) })],
      controllers: [controller()],
      providers: [{ provide: APP_FILTER, useClass: Calm }],
    });
    await get('/a');
    const response = await get('/a');
    expect(response.status).toBe(420);
    expect(response.headers.get('retry-after')).toMatch(/^6[0-5]$/);
    expect(await response.json()).toEqual({ code: 'RATE_LIMITED', retryAfter: 60, policy: 'default' });
  });

  it('releases the place of a client that disconnects during the key lookup, without calling the handler', async () => {
    const limiter = createLimiter(concurrency({ limit: 1, lease: '1m' }));
    const [leaving, ended, handled] = [new AbortController(), vi.fn(), vi.fn()];
    const Letters = controller();
    Object.assign(Letters.prototype, { later: handled });
    on(Letters, 'later', Get('later'));
    const key = (context: ExecutionContext) => {
      leaving.abort();
      const { socket } = requestOf<IncomingMessage>(context);
      return new Promise<string>((found) => socket.once('close', () => setImmediate(found, 'k')));
    };
    const settle = (_: unknown, outcome: unknown) => ended(outcome);
    const { get } = await serve({
      imports: [RateLimitModule.forRoot({ limiter, key, settle })],
      controllers: [Letters],
    });
    await expect(get('/later', leaving.signal)).rejects.toThrow(/abort/i);
    await expect.poll(() => ended).toHaveBeenCalledWith({ status: 200, aborted: true });
    await expect.poll(() => limiter.peek('k').remaining).toBe(1);
    expect(handled).not.toHaveBeenCalled();
  });

  it("sends a text body as the message of Nest's JSON error format", async () => {
    const { get } = await serve({
      imports: [RateLimitModule.forRoot({ limiter: perHour(1), cost: 2, body: () => 'calm down' })],
      controllers: [controller()],
    });
    const response = await get('/a');
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toEqual({ statusCode: 429, message: 'calm down' });
  });

  it('lets key functions get the request from requestOf and the handler from the context', async () => {
    const limiter = perHour(9);
    const { statuses } = await serve({
      imports: [
        RateLimitModule.forRoot({
          limiter,
          key: (context) =>
            `${requestOf<{ query: { user: string } }>(context).query.user} ${context.getHandler().name}`,
        }),
      ],
      controllers: [controller()],
    });
    expect(await statuses('/a?user=alice', '/b?user=alice')).toEqual([200, 200]);
    expect(limiter.peek('alice a').remaining).toBe(8);
    expect(limiter.peek('alice b').remaining).toBe(8);
  });

  /** Returns the replies to a client that sends 1, 2 and 3. */
  async function chat(
    options: NestRateLimitOptions,
    headers: Record<string, string> = {},
  ): Promise<unknown[]> {
    class Echo {
      handleConnection(client: WebSocket & { request?: unknown }, request: unknown) {
        if ('x-forwarded-for' in headers) client.request = request;
      }
      echo(data: string) {
        return { event: 'echo', data };
      }
    }
    // Nest 11 does not send the error to a ws client.
    class Told {
      catch(exception: WsException, host: ExecutionContext) {
        host.switchToWs().getClient<WebSocket>().send(JSON.stringify(exception.getError()));
      }
    }
    Catch(WsException)(Told);
    WebSocketGateway()(Echo);
    on(Echo, 'echo', SubscribeMessage('echo'), UseGuards(RateLimitGuard), UseFilters(Told));
    MessageBody()(Echo.prototype, 'echo', 0);
    await serve({ imports: [RateLimitModule.forRoot(options)], providers: [Echo] });
    const client = new WebSocket(`ws://127.0.0.1:${portOf(apps[0])}`, { headers });
    const heard: unknown[] = [];
    const three = new Promise<void>((resolve) => {
      client.on('message', (text: Buffer) => {
        if (heard.push(JSON.parse(text.toString())) === 3) resolve();
      });
    });
    await new Promise((resolve) => client.on('open', resolve));
    for (const data of ['1', '2', '3']) client.send(JSON.stringify({ event: 'echo', data }));
    await three;
    client.terminate();
    return heard;
  }

  it('limits socket messages by address, and denies with a WsException that has retryAfter', async () => {
    const limiter = perHour(2);
    expect(await chat({ limiter })).toEqual([
      { event: 'echo', data: '1' },
      { event: 'echo', data: '2' },
      { status: 'error', message: 'Too many requests', code: 'RATE_LIMITED', retryAfter: 60 },
    ]);
    expect(limiter.peek('127.0.0.1').remaining).toBe(0);
  });

  it("limits by the client's address behind a proxy if the gateway keeps the client's request", async () => {
    const limiter = perHour(9);
    await chat({ limiter, trustProxy: 1 }, { 'x-forwarded-for': '192.0.2.7' });
    expect(limiter.peek('192.0.2.7').remaining).toBe(6);
  });

  describe('for a gateway whose limit holds places', () => {
    async function serveGateway(limiter: Limiter, intercepts: boolean) {
      const finishers: (() => void)[] = [];
      class Jobs {
        async job(data: string) {
          await new Promise<void>((resolve) => finishers.push(resolve));
          if (data === 'fault') throw new Error('fault');
          return { event: 'done', data };
        }
      }
      class Told {
        catch(exception: unknown, host: ExecutionContext) {
          const message = exception instanceof WsException ? 'denied' : String(exception);
          host.switchToWs().getClient<WebSocket>().send(JSON.stringify({ message }));
        }
      }
      Catch()(Told);
      WebSocketGateway()(Jobs);
      on(Jobs, 'job', SubscribeMessage('job'), UseGuards(RateLimitGuard), UseFilters(Told));
      if (intercepts) on(Jobs, 'job', UseInterceptors(RateLimitInterceptor));
      MessageBody()(Jobs.prototype, 'job', 0);
      await serve({ imports: [RateLimitModule.forRoot({ limiter, key })], providers: [Jobs] });
      const client = new WebSocket(`ws://127.0.0.1:${portOf(apps[0])}`);
      const heard: unknown[] = [];
      client.on('message', (text: Buffer) => void heard.push(JSON.parse(text.toString())));
      await new Promise((resolve) => client.on('open', resolve));
      const send = (data: string) => client.send(JSON.stringify({ event: 'job', data }));
      return { send, heard, finishers, close: () => client.terminate() };
    }

    it('releases a place when its message has been handled, even if the handler fails', async () => {
      const limiter = createLimiter(concurrency({ limit: 2, lease: '1h' }));
      const { send, heard, finishers, close } = await serveGateway(limiter, true);
      for (const data of ['1', 'fault', '3']) send(data);
      await expect.poll(() => heard).toEqual([{ message: 'denied' }]);
      await expect.poll(() => finishers.length).toBe(2);
      for (const finish of finishers) finish();
      await expect.poll(() => limiter.peek('k').remaining).toBe(2);
      expect(heard).toHaveLength(3);
      close();
    });

    it('throws if the interceptor is missing', async () => {
      const limiter = createLimiter(concurrency({ limit: 2, lease: '1h' }));
      const { send, heard, close } = await serveGateway(limiter, false);
      send('1');
      await expect
        .poll(() => heard)
        .toEqual([{ message: expect.stringContaining('@UseInterceptors(RateLimitInterceptor)') as string }]);
      expect(limiter.peek('k').remaining).toBe(2);
      close();
    });
  });

  it('rejects invalid options at startup', async () => {
    const wrong = (options: object) => start({ imports: [RateLimitModule.forRoot(options)] }, adapter());
    await expect(wrong({ limitr: perHour(1) })).rejects.toThrow(/limitr is not an option here/);
    await expect(wrong({ limiter: undefined })).rejects.toThrow(/limiter is required/);
  });
});

describe('the Nest guard in GraphQL', () => {
  let app: INestApplication;
  afterEach(() => app.close());

  async function serve(options: NestRateLimitOptions) {
    class Greetings {
      hello() {
        return 'hello';
      }
    }
    Resolver()(Greetings);
    on(Greetings, 'hello', Field('hello'));
    const typeDefs = 'type Query { hello: String }';
    const imports = [
      RateLimitModule.forRoot(options),
      GraphQLModule.forRoot({ driver: MercuriusDriver, typeDefs }),
    ];
    app = await start({ imports, providers: [Greetings] }, new FastifyAdapter());
    return async (query: string) => {
      const response = await fetch(`http://127.0.0.1:${portOf(app)}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ query }),
      });
      return { headers: response.headers, body: await response.json() };
    };
  }

  it('charges each field of a query, and a denied field is null, with a code and retryAfter', async () => {
    const limiter = perHour(3);
    const ask = await serve({ limiter });
    const two = await ask('{ a: hello b: hello }');
    expect(two.body).toEqual({ data: { a: 'hello', b: 'hello' } });
    expect(two.headers.get('ratelimit')).toBe('"default";r=1;t=60');
    const { body, headers } = await ask('{ a: hello b: hello }');
    expect(body).toMatchObject({
      data: { a: 'hello', b: null },
      errors: [
        { message: 'Too many requests', path: ['b'], extensions: { code: 'RATE_LIMITED', retryAfter: 60 } },
      ],
    });
    expect(headers.get('retry-after')).toMatch(/^6[0-5]$/);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(limiter.peek('127.0.0.1').remaining).toBe(0);
  });

  it('releases the place held by a field when the response is sent', async () => {
    const limiter = createLimiter(concurrency({ limit: 2, lease: '1m' }));
    const ask = await serve({ limiter, key });
    for (let i = 0; i < 3; i++) {
      expect((await ask('{ a: hello b: hello }')).body).toEqual({ data: { a: 'hello', b: 'hello' } });
      await expect.poll(() => limiter.peek('k').remaining).toBe(2);
    }
  });
});

it.each([
  ['no limiter', {}, /limiter is required/],
  ['an option of the module', { limiter: perHour(1), status: 420 }, /status is not an option here/],
])('@RateLimit with %s throws when the decorated class is defined', (_, limits, message) => {
  expect(() => RateLimit(limits as never)).toThrow(message);
});
