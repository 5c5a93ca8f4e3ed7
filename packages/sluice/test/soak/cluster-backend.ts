/** A Redis Cluster of six nodes, of which primaries are replaced and stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { redis } from '../../src/stores/redis/index.ts';
import { type Node, startCluster } from '../stores/redis/cluster.ts';
import { CAREFUL, keysIn } from './redis-backend.ts';
import type { Backend } from './scene.ts';
import { comesTrue, type Draw, troubleBy } from './trouble.ts';

/** Milliseconds of silence after which a node is replaced: usually, so that a busy machine replaces none, and for a fault. */
const [PATIENT, IMPATIENT] = [5000, 1500];
/** Milliseconds after which a failover has failed, and after which the cluster has. */
const [AGAIN, LONGEST] = [7000, 60_000];

export async function clusterBackend(): Promise<Backend> {
  const cluster = await startCluster();
  const ports = cluster.nodes.map(({ server }) => server.port);
  const waitFor = (silence: number) =>
    Promise.all(cluster.nodes.map(({ control }) => control.config('SET', 'cluster-node-timeout', silence)));

  async function someMaster(draw: Draw): Promise<Node> {
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
  async function isReplaced(master: Node, within: number): Promise<boolean> {
    return (await comesTrue(() => isReplica(master), within)) && comesTrue(() => cluster.isWell(), LONGEST);
  }
  /** On a busy machine it may come to nothing, and is asked for again. */
  async function failOver(master: Node, how: readonly 'TAKEOVER'[]): Promise<void> {
    const { control } = await replicaOf(master);
    const ask = (): Promise<unknown> => control.call('CLUSTER', 'FAILOVER', ...how).catch(() => {});
    for (let tries = 0; tries < 5; tries++) {
      await ask();
      if (await isReplaced(master, AGAIN)) return;
    }
    throw new Error('a master was not replaced');
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
          await failOver(await someMaster(draw), []);
        },
      },
      // The replica does not ask: what it had not heard is lost.
      takeover: {
        needs: 3000,
        act: (draw) => losing(async () => failOver(await someMaster(draw), ['TAKEOVER'])),
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
            await waitFor(IMPATIENT);
            master.server.process.kill('SIGSTOP');
            await comesTrue(() => isMaster(replica), LONGEST);
            master.server.process.kill('SIGCONT');
            if (!(await isReplaced(master, LONGEST))) throw new Error('a stopped master was not replaced');
            await waitFor(PATIENT);
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
      return {
        store: (options) => redis(client, { onFailure: 'throw', ...options }),
        close: () => client.disconnect(),
      };
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
