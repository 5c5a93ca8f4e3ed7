import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { getRequestListener, serve, upgradeWebSocket } from '@hono/node-server';
import { Hono } from 'hono';
import { MemoryStore, rateLimiter, RedisStore, type Store, webSocketLimiter } from 'hono-rate-limiter';
import type { WSEvents } from 'hono/ws';
import { Redis } from 'ioredis';
import { describe, expect, inject, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { sluiceStore } from '../src/hono-rate-limiter.ts';
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { admitted, drained, freshPrefix, listen, ownRedis, statuses } from './apps.ts';
import { hitStoreClaims } from './hit-store.ts';

hitStoreClaims(sluiceStore, () => new MemoryStore());

/** Checks that the store has the type that the middleware requires. */
const asTheirs = (options?: Parameters<typeof sluiceStore>[0]): Store => sluiceStore(options);

type Config = Partial<Exclude<Parameters<typeof rateLimiter>[0], { binding: unknown }>>;

function app(config: Config, status: 200 | 500 = 200): Promise<string> {
  const server = new Hono();
  server.use(rateLimiter({ windowMs: 60_000, limit: 2, keyGenerator: () => 'client', ...config }));
  server.get('/', (c) => c.text('hello', status));
  server.get('/used', async (c) => {
    const { getKey, resetKey } = c.get('rateLimitStore' as never) as Pick<Required<Store>, 'resetKey'> & {
      getKey: NonNullable<Store['get']>;
    };
    const seen = await getKey('client');
    await resetKey('client');
    return c.json(seen ?? null);
  });
  const listener = getRequestListener(server.fetch);
  return listen((request, response) => void listener(request, response));
}

describe('hono-rate-limiter with sluiceStore():', () => {
  test('allows requests up to the limit, denies the next one, and reports the wait in headers', async () => {
    const url = await app({ store: asTheirs() });
    const first = await drained(fetch(url));
    expect(first.headers.get('ratelimit-remaining')).toBe('1');
    expect(first.headers.get('ratelimit-reset')).toBe('60');
    expect(await statuses(url, 2)).toEqual([200, 429]);
    const refused = await drained(fetch(url));
    expect(refused.headers.get('ratelimit-remaining')).toBe('0');
    expect(refused.headers.get('retry-after')).toBe('60');
  });

  test('allows the full limit again after the window ends', async () => {
    const clock = manualClock();
    const url = await app({ store: asTheirs({ clock }) });
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
    clock.advance(59_999);
    expect(await statuses(url, 1)).toEqual([429]);
    clock.advance(1);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('the getKey and resetKey functions of the context call the store', async () => {
    const url = await app({ store: asTheirs(), limit: 3 });
    await statuses(url, 2);
    expect(await (await fetch(`${url}used`)).json()).toMatchObject({ totalHits: 3 });
    expect(await statuses(url, 4)).toEqual([200, 200, 200, 429]);
  });

  test('does not count failed or successful requests if the options say to skip them', async () => {
    const failing = await app({ store: asTheirs(), skipFailedRequests: true }, 500);
    expect(await statuses(failing, 5)).toEqual([500, 500, 500, 500, 500]);
    const fine = await app({ store: asTheirs(), skipSuccessfulRequests: true });
    expect(await statuses(fine, 5)).toEqual([200, 200, 200, 200, 200]);
  });

  test('two instances on one Redis together admit exactly as many concurrent requests as the limit allows', async () => {
    const prefix = freshPrefix();
    const urls = await Promise.all(
      [0, 1].map(() => app({ limit: 25, store: asTheirs({ store: ownRedis(), prefix }) })),
    );
    expect(await admitted(urls, 100)).toBe(25);
  });

  test('counts the messages of a WebSocket', async () => {
    const store = asTheirs({ store: memory() });
    const limiter = webSocketLimiter({ limit: 2, keyGenerator: () => 'client', store });
    const echo: WSEvents = { onMessage: ({ data }, socket) => socket.send(String(data)) };
    const app = new Hono();
    app.get('/', upgradeWebSocket(limiter(() => echo)));
    // The types of ws and of the server differ in one overload.
    const websocket = { server: new WebSocketServer({ noServer: true }) as never };
    const server = serve({ fetch: app.fetch, websocket, port: 0, hostname: '127.0.0.1' });
    await once(server, 'listening');

    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await once(socket, 'open');
    const heard: string[] = [];
    socket.on('message', (data: Buffer) => heard.push(data.toString()));
    for (const message of ['1', '2', '3']) socket.send(message);
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
    server.close();

    expect(heard).toEqual(['1', '2']);
    expect([code, reason.toString()]).toEqual([1008, 'Too many requests, please try again later.']);
  });

  test('rejects the option resetExpiryOnChange, with which the original RedisStore restarts the window at each hit', async () => {
    const client = new Redis(inject('redisPort'), '127.0.0.1');
    const prefix = freshPrefix();
    const theirs = new RedisStore({
      client: {
        scriptLoad: (script: string) => client.script('LOAD', script),
        evalsha: (sha: string, keys: string[], args: string[]) =>
          client.evalsha(sha, keys.length, ...keys, ...args),
      } as never,
      prefix,
      resetExpiryOnChange: true,
    });
    theirs.init({ windowMs: 60_000 } as never);
    await theirs.increment('a');
    const [key = ''] = await client.keys(`${prefix}*`);
    await client.pexpire(key, 10_000);
    await theirs.increment('a');
    expect(await client.pttl(key)).toBeGreaterThan(10_000);
    client.disconnect();

    const options = { resetExpiryOnChange: true } as object;
    expect(() => sluiceStore(options)).toThrow(expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION' }));
  });
});
