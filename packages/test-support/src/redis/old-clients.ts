/** Creates earlier major versions of the clients that the store supports. Some of them have no type declarations. */
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Cluster, Redis } from 'ioredis';
import { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5';
import {
  createClient as createClient4,
  createCluster as createCluster4,
  type RedisClientOptions as Options4,
} from 'redis4';
import {
  createClient as createClient5,
  createCluster as createCluster5,
  createSentinel as createSentinel5,
} from 'redis5';
import type { RedisClient } from 'sluice/redis';
import type { Connected } from './clients.ts';
import { NAME } from './server.ts';

const require = createRequire(import.meta.url);

/** The part of node-redis 3 that the tests use. */
interface Client3 extends EventEmitter {
  readonly sendCommand: unknown;
  end(flush: boolean): void;
}

export const redis3 = require('redis3') as { createClient(options: object): Client3 };
export const ioredis4 = require('ioredis4') as {
  new (options: object): Redis;
  readonly Cluster: typeof Cluster;
};

type Closing = EventEmitter & { disconnect(): unknown };

function quiet<T extends EventEmitter>(client: T): T {
  return client.on('error', () => {});
}

function disconnecting(client: Closing & RedisClient): Connected {
  quiet(client);
  return { client, close: () => client.disconnect() };
}

async function connected3(port: number, options: object = {}): Promise<Connected> {
  const client = quiet(redis3.createClient({ port, ...options }));
  return { client, close: () => client.end(true) };
}

async function connected4(port: number, options: Options4 = {}): Promise<Connected> {
  const client = createClient4({ socket: { port }, ...options });
  client.on('error', () => {});
  await client.connect();
  return { client, close: () => client.disconnect() };
}

const at = (ports: readonly number[]) => ports.map((port) => ({ host: '127.0.0.1', port }));
const sockets = (ports: readonly number[]) => at(ports).map((socket) => ({ socket }));

export const OLD_CLIENTS: Readonly<Record<string, (port: number) => Promise<Connected>>> = {
  'ioredis 4': async (port) => disconnecting(new ioredis4({ port })),
  'ioredis 5': async (port) => disconnecting(new Redis5({ port })),
  'node-redis 3': (port) => connected3(port),
  'node-redis 3 with return_buffers': (port) => connected3(port, { return_buffers: true }),
  'node-redis 3 with detect_buffers': (port) => connected3(port, { detect_buffers: true }),
  'node-redis 4': (port) => connected4(port),
  'node-redis 4 in legacy mode': (port) => connected4(port, { legacyMode: true }),
  async 'node-redis 5'(port) {
    const client = createClient5({ socket: { port } }).on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};

export const OLD_CLUSTER_CLIENTS: Readonly<Record<string, (ports: readonly number[]) => Promise<Connected>>> =
  {
    'ioredis 4': async (ports) => disconnecting(new ioredis4.Cluster(at(ports))),
    'ioredis 5': async (ports) => disconnecting(new Cluster5(at(ports))),
    async 'node-redis 4'(ports) {
      const client = createCluster4({ rootNodes: sockets(ports) });
      client.on('error', () => {});
      await client.connect();
      return { client, close: () => client.disconnect() };
    },
    async 'node-redis 5'(ports) {
      const client = createCluster5({ rootNodes: sockets(ports) });
      client.on('error', () => {});
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  };

/** Old clients that support Sentinel, which node-redis 3 and 4 do not. */
export const OLD_SENTINEL_CLIENTS: Readonly<
  Record<string, (sentinels: readonly number[]) => Promise<Connected>>
> = {
  'ioredis 4': async (ports) => disconnecting(new ioredis4({ sentinels: at(ports), name: NAME })),
  'ioredis 5': async (ports) => disconnecting(new Redis5({ sentinels: at(ports), name: NAME })),
  async 'node-redis 5'(ports) {
    const client = createSentinel5({ name: NAME, sentinelRootNodes: at(ports) });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};
