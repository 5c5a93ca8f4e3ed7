/** Redis and Valkey, each behind its own network with faults. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { redis } from '../../src/stores/redis/index.ts';
import { proxyTo } from '../stores/redis/proxy.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import type { Backend, Connection } from './scenario.ts';
import { networkFaults, faultInjector } from './fault-injection.ts';

/** As the README of the store advises: a command without a reply is not sent again, because it may have been counted. */
export const NO_RETRIES = { retryStrategy: () => 50, maxRetriesPerRequest: 0 };

function overIoredis(port: number): Connection {
  const client = new Redis(port, '127.0.0.1', NO_RETRIES);
  client.on('error', () => {});
  return {
    store: (options) => redis(client, { onFailure: 'throw', ...options }),
    close: () => client.disconnect(),
  };
}

/** Counts the keys of limiters of this name. */
export async function keysIn(client: Redis, name: string): Promise<number> {
  let [cursor, count] = ['0', 0];
  do {
    const [next, found] = await client.scan(cursor, 'MATCH', `${name}:*`, 'COUNT', 1000);
    [cursor, count] = [next, count + found.length];
  } while (cursor !== '0');
  return count;
}

export interface RedisBackend extends Backend {
  /** Port of the proxy that simulates the network. */
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
    injector: faultInjector((losing) => ({
      ...networkFaults(network),
      'script flush': {
        async inject(draw) {
          for (let i = 0; i < 10; i++) {
            await admin.script('FLUSH');
            await sleep(draw(60));
          }
        },
      },
      flushall: { inject: () => losing(() => admin.flushall()) },
      stop: {
        async inject(draw) {
          server.process.kill('SIGSTOP');
          await sleep(100 + draw(700));
          server.process.kill('SIGCONT');
        },
      },
      kill: {
        inject: (draw) =>
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

/** The Valkey server that all tests share, so faults are injected only into the network. It answers ten times a second. */
export async function valkeyBackend(): Promise<Backend> {
  const network = await proxyTo(inject('valkeyPort'));
  return {
    name: 'valkey',
    isInOrder: true,
    injector: faultInjector(() => networkFaults(network)),
    connect: () => overIoredis(network.port),
    rows: async () => 0,
    stop: () => network.stop(),
  };
}
