import { Cluster as RedisCluster } from 'ioredis';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { describe, expect, test } from 'vitest';
import { createLimiter, type StoreUnavailable } from '../../../src/index.ts';
import { redis, type RedisClient } from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { proxyTo } from './proxy.ts';
import { ROWS } from './rows.ts';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { outcome, until } from 'sluice-test-support/redis/watch.ts';

function limiterOf(client: RedisClient) {
  return createLimiter('1000/h', {
    store: redis(client, { onFailure: 'throw', deadline: 50 }),
    name: 'silent',
  });
}

const isAnswered = async (limiter: ReturnType<typeof limiterOf>): Promise<boolean> =>
  (await outcome(() => limiter.take('a'))).value?.source === 'store';

// An object with send() has to detect a silent connection itself. With Upstash, the silent connection would be the one between the
// HTTP server of the test and Redis, which the client does not know about.
const OTHERS = ['an object with send', '@upstash/redis'];
describe.concurrent.each(Object.entries(ROWS).filter(([name]) => !OTHERS.includes(name)))(
  'a connection that is silent and never closed, with %s',
  (name, connect) => {
    test('is replaced within about a second', async () => {
      const server = await redisServer({
        args: name.endsWith('cluster') ? ['--cluster-enabled', 'yes'] : [],
      });
      const proxy = await proxyTo(server.port);
      const connected = await connect(proxy.port, server);
      try {
        const limiter = limiterOf(connected.client);
        await until(() => isAnswered(limiter));
        // Connections that are open now receive neither their next reply nor anything after it. New connections
        // work.
        proxy.mute = true;
        const { error } = await outcome(() => limiter.take('a'));
        expect((error as StoreUnavailable).fault).toBe('deadline');
        proxy.mute = false;
        expect(await until(() => isAnswered(limiter))).toBeLessThan(5000);
      } finally {
        await connected.close();
        await proxy.stop();
        await server.stop();
      }
    });
  },
);

describe.concurrent('a cluster’s master that hangs is replaced by its replica', () => {
  const CLIENTS = {
    ioredis: (nodes: { host: string; port: number }[]) => new RedisCluster(nodes),
    iovalkey: (nodes: { host: string; port: number }[]) => new ValkeyCluster(nodes),
  };

  test.each(Object.entries(CLIENTS))('for clients of %s', async (_, make) => {
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
      // A client can only use a replica that it knows, and a cluster does not list a replica that has not
      // replicated anything yet.
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
