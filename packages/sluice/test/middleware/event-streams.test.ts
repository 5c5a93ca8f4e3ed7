/** Tests event streams that stay open for longer than a lease, over a real server. */
import { type IncomingMessage, request, type RequestListener, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import { expect, test } from 'vitest';
import { concurrency, createLimiter, type Limiter } from '../../src/index.ts';
import { withRateLimit as fetchLimit } from '../../src/middleware/fetch.ts';
import { rateLimit } from '../../src/middleware/express.ts';
import { withRateLimit } from '../../src/middleware/node-http.ts';
import { listen } from './listen.ts';

const LEASE = 600;
const STREAMS = 20;

interface Client {
  status: number;
  readonly leave: () => void;
}

function open(url: string): Promise<Client> {
  return new Promise((resolve, reject) => {
    const asked = request(url, (response) => {
      response.on('error', () => {}).resume();
      resolve({ status: response.statusCode ?? 0, leave: () => void asked.destroy() });
    });
    asked.on('error', reject).end();
  });
}

const HEADERS = { 'content-type': 'text/event-stream' };

/** Endless server-sent events. */
function endless(): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setInterval>;
  return new ReadableStream({
    start(controller) {
      timer = setInterval(() => controller.enqueue(new TextEncoder().encode('data: 1\n\n')), 50);
    },
    cancel: () => clearInterval(timer),
  });
}

function stream(_: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, HEADERS);
  const timer = setInterval(() => response.write('data: 1\n\n'), 50);
  response.on('close', () => clearInterval(timer));
}

type Servers = Readonly<Record<string, (limiter: Limiter) => RequestListener>>;

const SERVERS: Servers = {
  'node:http': (limiter) => withRateLimit(limiter, stream),
  Express: (limiter) => express().use(rateLimit(limiter)).get('/', stream),
  'a fetch handler': (limiter) =>
    getRequestListener(fetchLimit(limiter, () => new Response(endless(), { headers: HEADERS }))),
};

test.for(Object.entries(SERVERS))(
  '%s admits only 2 of 20 event streams at a limit of 2, although the streams outlast many leases',
  { timeout: 30_000 },
  async ([, serve]) => {
    const limiter = createLimiter(concurrency({ limit: 2, lease: `${LEASE}ms` }));
    const server = await listen(serve(limiter));
    const clients: Client[] = [];
    for (let i = 0; i < STREAMS; i++) {
      clients.push(await open(server.url));
      await sleep(LEASE / 5);
    }
    const statuses = clients.map(({ status }) => status);
    expect(statuses).toEqual([200, 200, ...Array.from({ length: STREAMS - 2 }, () => 429)]);

    for (const { leave } of clients) leave();
    await expect.poll(() => limiter.peek('127.0.0.1').remaining, { timeout: 5000 }).toBe(2);
    await server.close();
  },
);
