/** Redis and Valkey, each behind a network of its own that fails. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { redis } from '../../src/stores/redis/index.ts';
import { proxyTo } from '../stores/redis/proxy.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import type { Backend, Connection } from './scene.ts';
import { networkFaults, troubleBy } from './trouble.ts';

/** As the store's page advises: what got no reply may have been counted, and is not sent again. */
export const CAREFUL = { retryStrategy: () => 50, maxRetriesPerRequest: 0 };

function overIoredis(port: number): Connection {
  const client = new Redis(port, '127.0.0.1', CAREFUL);
  client.on('error', () => {});
  return {
    store: (options) => redis(client, { onFailure: 'throw', ...options }),
    close: () => client.disconnect(),
  };
}

/** Keys of limiters of this name. */
export async function keysIn(client: Redis, name: string): Promise<number> {
  let [cursor, count] = ['0', 0];
  do {
    const [next, found] = await client.scan(cursor, 'MATCH', `${name}:*`, 'COUNT', 1000);
    [cursor, count] = [next, count + found.length];
  } while (cursor !== '0');
  return count;
}

export interface RedisBackend extends Backend {
  /** Of the network before it. */
  readonly port: number;
}

export async function redisBackend(): Promise<RedisBackend> {
  let server: Server = await redisServer();
  const { port } = server;
  const network = await proxyTo(port);
  const admin = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 });
  admin.on('error', () => {});
  return {
    name: 'redis',
    port: network.port,
    isInOrder: true,
    trouble: troubleBy((losing) => ({
      ...networkFaults(network),
      'script flush': {
        async act(draw) {
          for (let i = 0; i < 10; i++) {
            await admin.script('FLUSH');
            await sleep(draw(60));
          }
        },
      },
      flushall: { act: () => losing(() => admin.flushall()) },
      stop: {
        async act(draw) {
          server.process.kill('SIGSTOP');
          await sleep(100 + draw(700));
          server.process.kill('SIGCONT');
        },
      },
      kill: {
        act: (draw) =>
          losing(async () => {
            await server.stop('SIGKILL');
            await sleep(draw(500));
            server = await redisServer({ port });
          }),
      },
    })),
    connect: () => overIoredis(network.port),
    rows: (name) => keysIn(admin, name),
    async stop() {
      admin.disconnect();
      await network.stop();
      await server.stop();
    },
  };
}

/** The one that all tests share, so nothing is done to the server itself. It answers ten times a second. */
export async function valkeyBackend(): Promise<Backend> {
  const network = await proxyTo(inject('valkeyPort'));
  return {
    name: 'valkey',
    isInOrder: true,
    trouble: troubleBy(() => networkFaults(network)),
    connect: () => overIoredis(network.port),
    rows: async () => 0,
    stop: () => network.stop(),
  };
}
