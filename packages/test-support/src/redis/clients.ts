/** Creates every client that the store supports, with its default settings, on a single server. */
import { Redis as Upstash } from '@upstash/redis';
import { GlideClient, Logger } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createClient, createClientPool } from 'redis';
import type { RedisClient } from 'sluice/redis';
import { OLD_CLIENTS } from './old-clients.ts';
import { restServer } from './upstash.ts';

export interface Connected {
  readonly client: RedisClient;
  close(): unknown;
}

/** Milliseconds between attempts to reconnect, so that clients reconnect soon after the server is back. */
export const RETRY = 50;
/** Options for an ioredis client that must never send a command twice. By default, ioredis resends commands that got no reply. */
export const ONCE = { maxRetriesPerRequest: 0 };

/** Options that replace valkey-glide's own timeouts of 250 ms, so that only the store's deadline applies. */
export const PATIENT = { requestTimeout: 30_000, advancedConfiguration: { connectionTimeout: 30_000 } };

export function ioredis(port: number, options: object = {}): Redis {
  return new Redis({ port, retryStrategy: () => RETRY, ...options }).on('error', () => {});
}

export const CLIENTS: Readonly<Record<string, (port: number) => Promise<Connected>>> = {
  async ioredis(port) {
    const client = new Redis(port).on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(port) {
    const client = new Valkey(port).on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async 'node-redis'(port) {
    const client = createClient({ url: `redis://127.0.0.1:${port}` }).on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async 'a pool of node-redis'(port) {
    const client = createClientPool(
      { socket: { port, reconnectStrategy: RETRY } },
      { minimum: 2, maximum: 4 },
    );
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async 'valkey-glide'(port) {
    Logger.setLoggerConfig('off');
    const addresses = [{ host: '127.0.0.1', port }];
    const client = await GlideClient.createClient({ addresses, ...PATIENT });
    return { client, close: () => client.close() };
  },
  async '@upstash/redis'(port) {
    const rest = await restServer(port);
    return { client: new Upstash({ url: rest.url, token: rest.token }), close: () => rest.stop() };
  },
  async 'an object with send'(port) {
    // A custom client must not send a command twice.
    const redis = ioredis(port, ONCE);
    const client = { send: ([name, ...args]: readonly string[]) => redis.call(name, ...args) };
    return { client, close: () => redis.disconnect() };
  },
  ...OLD_CLIENTS,
};
