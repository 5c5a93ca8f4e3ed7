import { Cluster as RedisCluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster, Redis as Valkey } from 'iovalkey';
import { createClientPool } from 'redis';
import { describe, expect, test } from 'vitest';
import { createLimiter, type StoreUnavailable } from '../../src/index.ts';
import { redis, type RedisClient } from '../../src/stores/redis/index.ts';
import { type Connected, ioredis } from './clients.ts';
import { proxyTo } from './proxy.ts';
import { redisServer } from './server.ts';
import { outcome, until } from './watch.ts';

/** As the store's page advises for servers that others take the place of. */
const ONCE = { maxRetriesPerRequest: 0, socketTimeout: 2000 };
const REFRESHED = { retryDelayOnFailover: 0, slotsRefreshInterval: 1000 };

function limiterOf(client: RedisClient) {
  return createLimiter('1000/h', { store: redis(client, { deadline: 50 }), name: 'silent' });
}

const isAnswered = async (limiter: ReturnType<typeof limiterOf>): Promise<boolean> =>
  (await outcome(() => limiter.take('a'))).value?.source === 'store';

describe.concurrent('a connection that is silent and never closed is given up for another', () => {
  const CLIENTS: Readonly<Record<string, (port: number) => Promise<Connected>>> = {
    async ioredis(port) {
      const client = new Redis({ port, ...ONCE }).on('error', () => {});
      return { client, close: () => client.disconnect() };
    },
    async iovalkey(port) {
      const client = new Valkey({ port, ...ONCE }).on('error', () => {});
      return { client, close: () => client.disconnect() };
    },
    async 'a pool of node-redis'(port) {
      const client = createClientPool({ socket: { port } }).on('error', () => {});
      await client.connect();
      return { client, close: () => client.destroy() };
    },
  };

  test.each(Object.entries(CLIENTS))('by %s', async (_, make) => {
    const server = await redisServer();
    const proxy = await proxyTo(server.port);
    const made = await make(proxy.port);
    try {
      const limiter = limiterOf(made.client);
      await until(() => isAnswered(limiter));
      // The connection's own replies are lost from the next one on; those of a new connection are not.
      proxy.mute = true;
      const { error } = await outcome(() => limiter.take('a'));
      expect((error as StoreUnavailable).fault).toBe('deadline');
      proxy.mute = false;
      expect(await until(() => isAnswered(limiter))).toBeLessThan(5000);
    } finally {
      await made.close();
      await proxy.stop();
      await server.stop();
    }
  });
});

describe.concurrent('a cluster’s master that hangs is left for its successor', () => {
  const CLIENTS = {
    ioredis: (nodes: { host: string; port: number }[]) => new RedisCluster(nodes, REFRESHED),
    iovalkey: (nodes: { host: string; port: number }[]) => new ValkeyCluster(nodes, REFRESHED),
  };

  test.each(Object.entries(CLIENTS))('by %s', async (_, make) => {
    const args = ['--cluster-enabled', 'yes', '--repl-diskless-sync-delay', '0'];
    const [master, replica] = await Promise.all([redisServer({ args }), redisServer({ args })]);
    const [first, second] = [ioredis(master.port), ioredis(replica.port)];
    let client: RedisCluster | ValkeyCluster | undefined;
    try {
      const id = String(await first.cluster('MYID'));
      await first.cluster('ADDSLOTSRANGE', 0, 16_383);
      await second.cluster('MEET', '127.0.0.1', String(master.port));
      await until(async () => (await outcome(() => second.cluster('REPLICATE', id))).value === 'OK');
      await until(async () => (await second.info('replication')).includes('master_link_status:up'));
      // Only who knows of the replica can ask it, and one that has not replicated anything is not told of.
      await until(async () => (await outcome(() => first.set('a', 'a'))).value === 'OK');
      await until(async () => JSON.stringify(await first.cluster('SLOTS')).includes(`,${replica.port},`));
      client = make([master, replica].map(({ port }) => ({ host: '127.0.0.1', port })));
      client.on('error', () => {});
      const limiter = limiterOf(client);
      await until(() => isAnswered(limiter));
      master.process.kill('SIGSTOP');
      const { error } = await outcome(() => limiter.take('a'));
      expect((error as StoreUnavailable).fault).toBe('deadline');
      await second.cluster('FAILOVER', 'TAKEOVER');
      expect(await until(() => isAnswered(limiter))).toBeLessThan(5000);
    } finally {
      client?.disconnect();
      for (const control of [first, second]) control.disconnect();
      await Promise.all([master.stop(), replica.stop()]);
    }
  });
});
