/** Helpers for the tests of stores for other projects' middleware: servers on real sockets, and stores on Redis. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, afterEach, inject } from 'vitest';
import type { Decision, MaybePromise, Store } from 'sluice';
import { redis } from 'sluice/redis';
import type { ManualClock } from 'sluice/testing';

const clients: Redis[] = [];
afterAll(() => {
  for (const client of clients) client.disconnect();
});

/**
 * Creates a store with its own connection, like a store in another process. Its deadline is long, so that a slow reply does not
 * fail a test.
 */
export function ownRedis(clock?: ManualClock): Store<Promise<Decision>> {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  clients.push(client);
  return redis(client, { onFailure: 'throw', clock, deadline: '30s' });
}

/** Creates a store whose server does not exist. */
export function unreachable(onFailure: 'throw' | 'allow' | 'deny'): Store<Promise<Decision>> {
  const client = new Redis({
    port: 1,
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
  });
  client.on('error', () => {});
  return redis(client, { onFailure });
}

/** Counts the calls to a store. On Redis, each call is a round trip. */
export function counted<R extends MaybePromise<Decision>>(store: Store<R>): Store<R> & { asked(): number } {
  let asked = 0;
  return {
    ...store,
    asked: () => asked,
    apply(hit) {
      asked++;
      return store.apply(hit);
    },
  };
}

let prefixes = 0;

/** Returns a new prefix, because the Redis server is shared with other tests. */
export function freshPrefix(): string {
  return `compat ${process.pid} ${++prefixes}`;
}

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

/** Starts the server and returns its address. The server is closed after the test. */
export async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Sends the given number of requests one after the other and returns their statuses. */
export async function statuses(url: string, requests: number): Promise<number[]> {
  const seen: number[] = [];
  for (let i = 0; i < requests; i++) seen.push((await drained(fetch(url))).status);
  return seen;
}

/** Sends the given number of concurrent requests, spread over the addresses, and returns how many were admitted. */
export async function admitted(urls: readonly string[], requests: number): Promise<number> {
  const all = Array.from({ length: requests }, (_, i) => drained(fetch(urls[i % urls.length])));
  return (await Promise.all(all)).filter(({ ok }) => ok).length;
}

export async function drained(response: Promise<Response>): Promise<Response> {
  const answer = await response;
  await answer.arrayBuffer();
  return answer;
}
