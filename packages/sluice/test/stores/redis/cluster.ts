/**
 * A Redis Cluster of three masters with one replica each, on free ports, and the clients that support
 * clusters.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { GlideClusterClient, Logger } from '@valkey/valkey-glide';
import { Cluster as RedisCluster, Redis } from 'ioredis';
import { Cluster as ValkeyCluster } from 'iovalkey';
import { createCluster } from 'redis';
import { type Connected, PATIENT } from 'sluice-test-support/redis/clients.ts';
import { OLD_CLUSTER_CLIENTS } from 'sluice-test-support/redis/old-clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

export interface Node {
  readonly id: string;
  readonly server: Server;
  readonly control: Redis;
}

export interface Cluster {
  readonly nodes: readonly Node[];
  /** The node that currently serves a key, according to its own view of the cluster. */
  masterOf(key: string): Promise<Node>;
  masters(): Promise<Node[]>;
  /** Whether all slots are served, and all nodes that are alive agree on which node serves each. */
  isWell(): Promise<boolean>;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const servers = await Promise.all(Array.from({ length: 6 }, () => startNode()));
  const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
  const nodes: Node[] = await Promise.all(
    servers.map(async (server) => {
      const control = new Redis({ port: server.port, retryStrategy: () => 50, maxRetriesPerRequest: 1 });
      control.on('error', () => {});
      return { id: String(await control.cluster('MYID')), server, control };
    }),
  );
  const alive = (): Node[] => nodes.filter(({ server }) => server.process.exitCode === null && !gone(server));

  /** Lines of CLUSTER NODES: id, address, flags, master, …, slots. */
  async function view({ control }: Node): Promise<string[][]> {
    const text = String(await control.cluster('NODES'));
    return text
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
  }

  async function masters(): Promise<Node[]> {
    const [any] = alive();
    const ids = (await view(any))
      .filter((line) => line[2].includes('master') && !line[2].includes('fail') && line.length > 8)
      .map(([id]) => id);
    return nodes.filter(({ id }) => ids.includes(id));
  }

  async function isWell(): Promise<boolean> {
    for (const node of alive()) {
      const info = String(await node.control.cluster('INFO'));
      if (!info.includes('cluster_state:ok') || !info.includes('cluster_slots_ok:16384')) return false;
      if (!info.includes('cluster_size:3')) return false;
    }
    return true;
  }

  const create = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
  await promisify(execFile)('redis-cli', create);
  await until(isWell, 20_000);
  await until(async () => {
    const links = await Promise.all(nodes.map(({ control }) => control.info('replication')));
    return links.filter((info) => info.includes('master_link_status:up')).length === 3;
  }, 20_000);

  return {
    nodes,
    masters,
    isWell,
    async masterOf(key) {
      const [any] = alive();
      const slot = Number(await any.control.cluster('KEYSLOT', key));
      for (const line of await view(any)) {
        const served = line.slice(8).some((range) => {
          const [from, to = from] = range.split('-').map(Number);
          return slot >= from && slot <= to;
        });
        const node = nodes.find(({ id }) => id === line[0]);
        if (served && node !== undefined) return node;
      }
      throw new Error(`no node serves slot ${slot}`);
    },
    async stop() {
      for (const { control } of nodes) control.disconnect();
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

function gone({ process: { exitCode, signalCode } }: Server): boolean {
  return exitCode !== null || signalCode !== null;
}

function startNode(): Promise<Server> {
  // On a busy machine a node may be silent for a second without having failed.
  const args = '--cluster-enabled yes --cluster-node-timeout 5000 --repl-diskless-sync-delay 0'.split(' ');
  return redisServer({ args });
}

/** Every client that supports clusters, with its default settings. */
export const CLUSTER_CLIENTS: Readonly<Record<string, (ports: readonly number[]) => Promise<Connected>>> = {
  async ioredis(ports) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
    const client = new RedisCluster(nodes);
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(ports) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
    const client = new ValkeyCluster(nodes);
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async 'node-redis'(ports) {
    const client = createCluster({
      rootNodes: ports.map((port) => ({ socket: { host: '127.0.0.1', port } })),
    });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async 'valkey-glide'(ports) {
    const addresses = ports.map((port) => ({ host: '127.0.0.1', port }));
    Logger.setLoggerConfig('off');
    const client = await GlideClusterClient.createClient({ addresses, ...PATIENT });
    return { client, close: () => client.close() };
  },
  ...OLD_CLUSTER_CLIENTS,
};
