/** Tests the default key behind a proxy: which setting determines the client's address, and which warnings appear. */
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import express from 'express';
// @ts-expect-error The alias for Express 4 has no types.
import express4 from 'express4';
import fastify from 'fastify';
import Koa from 'koa';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLimiter } from '../../src/index.ts';
import { rateLimit as onExpress } from '../../src/middleware/express.ts';
import { rateLimit as onFastify } from '../../src/middleware/fastify.ts';
import { rateLimit as onKoa } from '../../src/middleware/koa.ts';
import { RateLimitModule } from '../../src/middleware/nest/nest.ts';
import { rateLimit as onNode } from '../../src/middleware/node-http.ts';
import type { AnyOptions } from './claims.ts';
import { listen, running } from './listen.ts';

/** The proxy setting of an application, which trusts one proxy, every proxy or none. */
type Setting = 'one proxy' | 'anyone' | 'nothing';

interface Running {
  readonly url: string;
  close(): Promise<void>;
}

const onExpressApp =
  (framework: typeof express) =>
  (setting: Setting, options: AnyOptions): Promise<Running> => {
    const app = framework();
    if (setting !== 'nothing') app.set('trust proxy', setting === 'anyone' ? true : 'loopback');
    app.use(onExpress(options));
    app.get('/', (_, response) => void response.send('ok'));
    return running(app.listen(0, '127.0.0.1'));
  };

const trustProxy = { 'one proxy': 'loopback', anyone: true, nothing: false } as const;

async function onNest(adapter: ExpressAdapter | FastifyAdapter, options: AnyOptions): Promise<Running> {
  class Routes {
    root() {
      return 'ok';
    }
  }
  Controller()(Routes);
  const root = Object.getOwnPropertyDescriptor(Routes.prototype, 'root') as PropertyDescriptor;
  Get()(Routes.prototype, 'root', root);
  class Root {}
  Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Routes] })(Root);
  const app = await NestFactory.create(Root, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), close: () => app.close() };
}

const FRAMEWORKS: Readonly<Record<string, (setting: Setting, options: AnyOptions) => Promise<Running>>> = {
  'Express 5': onExpressApp(express),
  'Express 4': onExpressApp(express4),
  async Fastify(setting, options) {
    const app = fastify({ trustProxy: trustProxy[setting] });
    await app.register(onFastify, options);
    app.get('/', async () => 'ok');
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: async () => app.close() };
  },
  Koa(setting, options) {
    const app = new Koa({ proxy: setting !== 'nothing', maxIpsCount: setting === 'one proxy' ? 1 : 0 });
    app.use(onKoa(options));
    app.use((context) => {
      context.body = 'ok';
    });
    return running(app.listen(0, '127.0.0.1'));
  },
  'Nest on Express'(setting, options) {
    const app = express();
    app.set('trust proxy', trustProxy[setting]);
    return onNest(new ExpressAdapter(app), options);
  },
  'Nest on Fastify': (setting, options) =>
    onNest(new FastifyAdapter({ trustProxy: trustProxy[setting] }), options),
};

const emitWarning = vi.spyOn(process, 'emitWarning');
const codes = (): unknown[] =>
  emitWarning.mock.calls.map(([, options]) => (options as { code?: string }).code);

const cleanups: (() => Promise<void>)[] = [];
beforeEach(() => void emitWarning.mockReset());
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

/** Sends a request with this X-Forwarded-For header, with this process as the only proxy. Returns the status. */
async function serve(start: Promise<Running>): Promise<(forwardedFor: string) => Promise<number>> {
  const server = await start;
  const { url } = server;
  cleanups.push(() => server.close());
  return async (forwardedFor) => {
    const headers = { 'x-forwarded-for': forwardedFor, connection: 'close' };
    return (await fetch(url, { headers })).status;
  };
}

async function statuses(get: (forwardedFor: string) => Promise<number>, list: readonly string[]) {
  const found: number[] = [];
  for (const forwardedFor of list) found.push(await get(forwardedFor));
  return found;
}

const CLIENTS = Array.from({ length: 30 }, (_, i) => `192.0.2.${i}`);

describe.each(Object.entries(FRAMEWORKS))('%s', (_, start) => {
  const limiter = () => createLimiter('2/h');

  test("limits each client by the address that the framework's own proxy setting determines", async () => {
    const get = await serve(start('one proxy', { limiter: limiter() }));
    expect(await statuses(get, CLIENTS)).toEqual(CLIENTS.map(() => 200));
    expect(await statuses(get, ['192.0.2.1', '192.0.2.1'])).toEqual([200, 429]);
    expect(codes()).toEqual([]);
  });

  test('ignores an address that the client itself has put into X-Forwarded-For', async () => {
    const get = await serve(start('one proxy', { limiter: limiter() }));
    const forged = CLIENTS.slice(0, 4).map((client) => `${client}, 198.51.100.7`);
    expect(await statuses(get, forged)).toEqual([200, 200, 429, 429]);
  });

  test('does not let clients choose their address if the framework trusts every proxy', async () => {
    const get = await serve(start('anyone', { limiter: limiter() }));
    const forged = CLIENTS.slice(0, 4).map((client) => `${client}, 198.51.100.7`);
    expect(await statuses(get, forged)).toEqual([200, 200, 429, 429]);
    expect(await get('192.0.2.77')).toBe(200);
  });

  test("`trustProxy: false` overrides the framework's setting", async () => {
    const get = await serve(start('one proxy', { limiter: limiter(), trustProxy: false }));
    expect(await statuses(get, CLIENTS.slice(0, 3))).toEqual([200, 200, 429]);
    expect(codes()).toEqual([]);
  });
});

describe('warnings about proxies', () => {
  /** A warning appears once per process, so each test loads fresh modules. */
  async function freshModules() {
    vi.resetModules();
    const { rateLimit: express5 } = await import('../../src/middleware/express.ts');
    const { createLimiter: create } = await import('../../src/index.ts');
    return { rateLimit: express5, limiter: create('1000/h') };
  }

  async function appWith(middleware: ReturnType<typeof onExpress>, trusted?: unknown) {
    const app = express();
    if (trusted !== undefined) app.set('trust proxy', trusted);
    app.use(middleware);
    app.get('/', (_, response) => void response.send('ok'));
    return serve(running(app.listen(0, '127.0.0.1')));
  }

  test('appear once if requests are forwarded and no proxy is trusted', async () => {
    const { rateLimit, limiter } = await freshModules();
    const get = await appWith(rateLimit(limiter));
    await statuses(get, CLIENTS.slice(0, 5));
    expect(codes()).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
  });

  test('appear once if the framework trusts every proxy', async () => {
    const { rateLimit, limiter } = await freshModules();
    const get = await appWith(rateLimit(limiter), true);
    await statuses(get, CLIENTS.slice(0, 5));
    expect(codes()).toEqual(['SLUICE_PROXY_TRUSTS_ANYONE']);
  });

  test.each([
    ['trustProxy is false', { trustProxy: false as const }],
    ['trustProxy names the proxy', { trustProxy: 'loopback' }],
    ['the key is not the address', { key: () => 'everyone' }],
  ])('do not appear if %s', async (_, options) => {
    const { rateLimit, limiter } = await freshModules();
    const get = await appWith(rateLimit({ limiter, ...options }));
    await statuses(get, CLIENTS.slice(0, 2));
    expect(codes()).toEqual([]);
  });

  test("do not appear if the platform provides the client's address", async () => {
    await freshModules();
    const { rateLimit } = await import('../../src/middleware/fetch.ts');
    const { createLimiter: create } = await import('../../src/index.ts');
    const check = rateLimit(create('5/h'));
    const headers = { 'x-forwarded-for': '192.0.2.1', 'cf-connecting-ip': '192.0.2.1' };
    await check(Object.assign(new Request('http://example.com', { headers }), { cf: {} }));
    const sixth = { 'x-forwarded-for': '2001:db8::1', 'cf-connecting-ip': '2001:db8::1' };
    await check(Object.assign(new Request('http://example.com', { headers: sixth }), { cf: {} }));
    expect(codes()).toEqual([]);
  });

  test('appear if Fastify is given a number of proxies, because Fastify ignores that number', async () => {
    await freshModules();
    const { rateLimit } = await import('../../src/middleware/fastify.ts');
    const { createLimiter: create } = await import('../../src/index.ts');
    // Fastify's types no longer accept a number, but its code still does.
    const app = fastify({ trustProxy: 1 as unknown as true });
    await app.register(rateLimit, { limiter: create('5/h') });
    app.get('/', async () => 'ok');
    cleanups.push(async () => app.close());
    await app.inject({ url: '/', headers: { 'x-forwarded-for': '192.0.2.1' } });
    expect(codes()).toEqual(['SLUICE_PROXY_NOT_TRUSTED']);
  });

  test('do not appear for direct requests to a Node server', async () => {
    const get = onNode(createLimiter('5/h'));
    const server = await listen((request, response) => {
      void get(request, response).then((passes) => passes && response.end('ok'));
    });
    cleanups.push(() => server.close());
    expect((await fetch(server.url)).status).toBe(200);
    expect(codes()).toEqual([]);
  });
});
