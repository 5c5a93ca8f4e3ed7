/** Redis, a cluster of it, Valkey and Postgres, each with its faults. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { inject } from 'vitest';
import { postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { postgresServer } from '../postgres/server.ts';
import { startCluster, type Node } from '../redis/cluster.ts';
import { proxyTo } from '../redis/proxy.ts';
import { redisServer, type Server } from '../redis/server.ts';
import { until } from '../redis/watch.ts';
import type { Backend, Connection } from './scene.ts';
import { networkFaults, troubleBy } from './trouble.ts';

/** As the store's page advises: what got no reply may have been counted, and is not sent again. */
const CAREFUL = { retryStrategy: () => 50, maxRetriesPerRequest: 0 };

function overIoredis(port: number): Connection {
  const client = new Redis(port, '127.0.0.1', CAREFUL);
  client.on('error', () => {});
  return { store: (options) => redis(client, options), close: () => client.disconnect() };
}

/** Keys of limiters of this name. */
async function keysIn(client: Redis, name: string): Promise<number> {
  let [cursor, count] = ['0', 0];
  do {
    const [next, found] = await client.scan(cursor, 'MATCH', `${name}:*`, 'COUNT', 1000);
    [cursor, count] = [next, count + found.length];
  } while (cursor !== '0');
  return count;
}

export async function redisBackend(): Promise<Backend> {
  let server: Server = await redisServer();
  const { port } = server;
  const network = await proxyTo(port);
  const admin = new Redis(port, '127.0.0.1', { retryStrategy: () => 50 });
  admin.on('error', () => {});
  return {
    name: 'redis',
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

/** Milliseconds of silence after which a node is replaced. */
const NODE_TIMEOUT = 1500;

export async function clusterBackend(): Promise<Backend> {
  const cluster = await startCluster();
  const ports = cluster.nodes.map(({ server }) => server.port);
  for (const { control } of cluster.nodes) await control.config('SET', 'cluster-node-timeout', NODE_TIMEOUT);

  async function someMaster(draw: (below: number) => number): Promise<Node> {
    const masters = await cluster.masters();
    return masters[draw(masters.length)];
  }
  async function replicaOf({ id }: Node): Promise<Node> {
    for (const node of cluster.nodes)
      if (String(await node.control.cluster('NODES')).includes(`myself,slave ${id} `)) return node;
    throw new Error('a master without a replica');
  }
  const isReplica = async ({ control }: Node): Promise<boolean> =>
    /role:slave[\s\S]*master_link_status:up/.test(await control.info('replication'));
  async function replaced(master: Node): Promise<void> {
    await until(() => isReplica(master), 30_000, 20);
    await until(() => cluster.isWell(), 30_000, 20);
  }

  return {
    name: 'redis cluster',
    // One that is sent on to another node may be overtaken.
    isInOrder: false,
    trouble: troubleBy((losing) => ({
      // Both agree on it, and no write is lost.
      failover: {
        needs: 3000,
        async act(draw) {
          const master = await someMaster(draw);
          await (await replicaOf(master)).control.cluster('FAILOVER');
          await replaced(master);
        },
      },
      // The replica does not ask: what it had not heard is lost.
      takeover: {
        needs: 3000,
        act: (draw) =>
          losing(async () => {
            const master = await someMaster(draw);
            await (await replicaOf(master)).control.cluster('FAILOVER', 'TAKEOVER');
            await replaced(master);
          }),
      },
      // Too short for the others to replace it.
      stop: {
        async act(draw) {
          const { server } = await someMaster(draw);
          server.process.kill('SIGSTOP');
          await sleep(100 + draw(500));
          server.process.kill('SIGCONT');
        },
      },
      // Until it has been replaced; for a moment it does not know that.
      'long stop': {
        needs: 8000,
        act: (draw) =>
          losing(async () => {
            const master = await someMaster(draw);
            const replica = await replicaOf(master);
            master.server.process.kill('SIGSTOP');
            await until(async () => !(await isReplica(replica)) && (await isMaster(replica)), 20_000, 20);
            master.server.process.kill('SIGCONT');
            await replaced(master);
          }),
      },
      'script flush': {
        act: () => Promise.all(cluster.nodes.map(({ control }) => control.script('FLUSH'))),
      },
    })),
    connect() {
      const client = new Cluster(
        ports.map((port) => ({ host: '127.0.0.1', port })),
        { redisOptions: CAREFUL },
      );
      client.on('error', () => {});
      return { store: (options) => redis(client, options), close: () => client.disconnect() };
    },
    async rows(name) {
      const counts = await Promise.all((await cluster.masters()).map(({ control }) => keysIn(control, name)));
      return counts.reduce((sum, count) => sum + count, 0);
    },
    stop: () => cluster.stop(),
  };
}

const isMaster = async ({ control }: Node): Promise<boolean> =>
  (await control.info('replication')).includes('role:master');

export async function postgresBackend(): Promise<Backend> {
  const server = await postgresServer();
  const network = await proxyTo(server.port);
  const admin = server.pool({ max: 2 });
  /** Those that serve the stores. */
  const backends = async (): Promise<number[]> => {
    const { rows } = await admin.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE application_name = 'soak'",
    );
    return rows.map(({ pid }) => pid);
  };
  const signal = (pids: readonly number[], name: NodeJS.Signals): void => {
    for (const pid of pids) {
      try {
        process.kill(pid, name);
      } catch {
        // It has ended meanwhile.
      }
    }
  };
  const rowsLike = async (start: string): Promise<number> => {
    const text = 'SELECT count(*) FROM sluice WHERE starts_with(key, $1)';
    const { rows } = await admin.query<{ count: string }>(text, [start]);
    return Number(rows[0]?.count);
  };
  return {
    name: 'postgres',
    isInOrder: true,
    trouble: troubleBy((losing) => ({
      ...networkFaults(network),
      terminate: {
        act: () =>
          admin.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'soak'",
          ),
      },
      lock: {
        async act(draw) {
          const client = await admin.connect();
          await client.query('BEGIN; LOCK TABLE sluice IN ACCESS EXCLUSIVE MODE');
          await sleep(50 + draw(500));
          await client.query('COMMIT');
          client.release();
        },
      },
      stop: {
        async act(draw) {
          const pids = await backends();
          signal(pids, 'SIGSTOP');
          await sleep(100 + draw(500));
          signal(pids, 'SIGCONT');
        },
      },
      truncate: { act: () => losing(() => admin.query('TRUNCATE sluice')) },
      // One of its processes dies, so all of them are started anew, and a table that is not logged is empty.
      crash: {
        needs: 4000,
        act: () =>
          losing(async () => {
            await admin.query(
              "INSERT INTO sluice VALUES ('before', '', 1, 'infinity') ON CONFLICT DO NOTHING",
            );
            const { rows } = await admin.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
            signal([rows[0].pid], 'SIGKILL');
            await until(
              () =>
                rowsLike('before').then(
                  (count) => count === 0,
                  () => false,
                ),
              30_000,
              20,
            );
          }),
      },
    })),
    connect() {
      const url = server.url.replace(`:${server.port}/`, `:${network.port}/`);
      const pool = server.pool({
        connectionString: url,
        max: 4,
        application_name: 'soak',
        connectionTimeoutMillis: 3000,
      });
      return { store: (options) => postgres(pool, options), close: () => {} };
    },
    rows: (name) => rowsLike(`${name}:`),
    async stop() {
      network.cut();
      await server.stop();
      await network.stop();
    },
  };
}
