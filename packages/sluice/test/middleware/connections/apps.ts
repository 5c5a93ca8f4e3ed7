/** An app for each Node framework, all with the same routes, over HTTP/1.1 or HTTP/2. */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
// @ts-expect-error The alias for Express 4 has no types.
import express4 from 'express4';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import Koa from 'koa';
import type { GuardOptions } from '../../../src/http/index.ts';
import { rateLimit as forExpress } from '../../../src/middleware/express.ts';
import { rateLimit as forFastify } from '../../../src/middleware/fastify.ts';
import { type FetchCall, withRateLimit as withFetch } from '../../../src/middleware/fetch.ts';
import { rateLimit as forHono } from '../../../src/middleware/hono.ts';
import { rateLimit as forKoa } from '../../../src/middleware/koa.ts';
import { withRateLimit } from '../../../src/middleware/node-http.ts';

/** Options whose functions find the request's `id` header, wherever the framework keeps it. */
export type Options = <Q>(idOf: (request: Q) => string) => GuardOptions<Q>;

/** Returns the text or the stream that a handler sends for a path. */
export type Answer = (path: string) => Promise<string | Readable>;

export type AnyServer = Server | Http2Server;

/** Listens on a free port. */
export type Start = (options: Options, answer: Answer) => Promise<AnyServer>;

export interface App {
  readonly name: string;
  readonly start: Start;
}

type Listener = (options: Options, answer: Answer) => RequestListener;

const ofNode = ({ headers }: IncomingMessage): string => String(headers['id']);

const nodeListener: Listener = (options, answer) =>
  withRateLimit(options(ofNode), async (request, response) => {
    if (request.url === '/paused') request.once('data', () => request.pause());
    const body = await answer(request.url ?? '');
    if (typeof body === 'string') response.end(body);
    else body.pipe(response);
  });

const expressListener =
  (framework: typeof express): Listener =>
  (options, answer) => {
    const app = framework();
    app.use(forExpress(options(ofNode)));
    app.use(async (request, response) => {
      const body = await answer(request.path);
      if (typeof body === 'string') response.send(body);
      else body.pipe(response);
    });
    return app;
  };

const koaListener: Listener = (options, answer) => {
  const app = new Koa();
  app.silent = true;
  app.use(forKoa(options<Koa.Context>(({ req }) => ofNode(req))));
  app.use(async (context) => {
    context.body = await answer(context.path);
  });
  const listener = app.callback();
  return (request, response) => void listener(request, response);
};

const webBody = async (answer: Answer, path: string): Promise<string | ReadableStream<Uint8Array>> => {
  const body = await answer(path);
  return typeof body === 'string' ? body : (Readable.toWeb(body) as ReadableStream<Uint8Array>);
};

function served(handler: Parameters<typeof getRequestListener>[0]): RequestListener {
  const listener = getRequestListener(handler);
  return (request, response) => void listener(request, response);
}

const honoListener: Listener = (options, answer) => {
  const app = new Hono();
  app.use(forHono(options<Context>(({ req }) => String(req.header('id')))));
  app.get('*', async (context) => context.body(await webBody(answer, context.req.path)));
  app.post('*', async (context) => context.body(await webBody(answer, context.req.path)));
  return served(app.fetch);
};

const fetchListener: Listener = (options, answer) => {
  const handler = withFetch(
    options<FetchCall>(({ request }) => String(request.headers.get('id'))),
    async (request: Request, _env: unknown) =>
      new Response(await webBody(answer, new URL(request.url).pathname)),
  );
  return served(handler);
};

async function listening<S extends AnyServer>(server: S): Promise<S> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

export const portOf = (server: AnyServer): number => (server.address() as AddressInfo).port;

const http1 =
  (listener: Listener): Start =>
  async (options, answer) =>
    listening(createServer(listener(options, answer)));

const http2 =
  (listener: Listener): Start =>
  async (options, answer) =>
    listening(createHttp2Server(listener(options, answer) as never));

function fastifyOver(http2: boolean): Start {
  return async (options, answer) => {
    const app = fastify({ http2: http2 as false, forceCloseConnections: false });
    await app.register(
      forFastify,
      options<FastifyRequest>(({ raw }) => ofNode(raw)),
    );
    // Leave request bodies unread, like a handler that does not expect a body.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.all('*', async (request, reply) => reply.send(await answer(request.url)));
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  };
}

export const OVER_HTTP1: readonly App[] = [
  { name: 'node:http', start: http1(nodeListener) },
  { name: 'Express 5', start: http1(expressListener(express)) },
  { name: 'Express 4', start: http1(expressListener(express4 as typeof express)) },
  { name: 'Koa', start: http1(koaListener) },
  { name: 'Fastify', start: fastifyOver(false) },
  { name: 'Hono', start: http1(honoListener) },
  { name: 'fetch', start: http1(fetchListener) },
];

export const OVER_HTTP2: readonly App[] = [
  { name: 'node:http2', start: http2(nodeListener) },
  { name: 'Koa', start: http2(koaListener) },
  { name: 'Fastify', start: fastifyOver(true) },
  { name: 'Hono', start: http2(honoListener) },
];
