/** A Redis Cluster of six nodes, whose primaries are replaced and stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { redis } from '../../src/stores/redis/index.ts';
import { type Node, startCluster } from '../stores/redis/cluster.ts';
import { NO_RETRIES, keysIn } from './redis-backend.ts';
import type { Backend } from './scenario.ts';
import { becomesTrue, type Draw, faultInjector } from './fault-injection.ts';

/**
 * Milliseconds of silence after which a node is replaced. The timeout is normally long, so that no node is replaced on a busy
 * machine, and is short during a fault.
 */
const [LONG_TIMEOUT, SHORT_TIMEOUT] = [5000, 1500];
/** Milliseconds after which a failover is tried again, and after which the fault is given up. */
const [RETRY_AFTER, GIVE_UP_AFTER] = [7000, 60_000];

export async function clusterBackend(): Promise<Backend> {
  const cluster = await startCluster();
  const ports = cluster.nodes.map(({ server }) => server.port);
  const setNodeTimeout = (silence: number) =>
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
    return (
      (await becomesTrue(() => isReplica(master), within)) &&
      becomesTrue(() => cluster.isWell(), GIVE_UP_AFTER)
    );
  }
  /** On a busy machine a failover may fail, so it is tried again. */
  async function failOver(master: Node, how: readonly 'TAKEOVER'[]): Promise<void> {
    const { control } = await replicaOf(master);
    const ask = (): Promise<unknown> => control.call('CLUSTER', 'FAILOVER', ...how).catch(() => {});
    for (let tries = 0; tries < 5; tries++) {
      await ask();
      if (await isReplaced(master, RETRY_AFTER)) return;
    }
    throw new Error('a master was not replaced');
  }

  return {
    name: 'redis cluster',
    // A hit that is redirected to another node may be overtaken by a later hit.
    isInOrder: false,
    injector: faultInjector((losing) => ({
      // Primary and replica agree on the failover, so no write is lost.
      failover: {
        needs: 3000,
        async inject(draw) {
          await failOver(await someMaster(draw), []);
        },
      },
      // The replica takes over without agreement: writes that it has not received are lost.
      takeover: {
        needs: 3000,
        inject: (draw) => losing(async () => failOver(await someMaster(draw), ['TAKEOVER'])),
      },
      // The stop is too short for the other nodes to replace the stopped node.
      stop: {
        async inject(draw) {
          const { server } = await someMaster(draw);
          server.process.kill('SIGSTOP');
          await sleep(100 + draw(500));
          server.process.kill('SIGCONT');
        },
      },
      // Stops a master until it has been replaced. When it continues, it does not know at first that it was replaced.
      'long stop': {
        needs: 8000,
        inject: (draw) =>
          losing(async () => {
            const master = await someMaster(draw);
            const replica = await replicaOf(master);
            await setNodeTimeout(SHORT_TIMEOUT);
            master.server.process.kill('SIGSTOP');
            await becomesTrue(() => isMaster(replica), GIVE_UP_AFTER);
            master.server.process.kill('SIGCONT');
            if (!(await isReplaced(master, GIVE_UP_AFTER)))
              throw new Error('a stopped master was not replaced');
            await setNodeTimeout(LONG_TIMEOUT);
          }),
      },
      'script flush': {
        inject: () => Promise.all(cluster.nodes.map(({ control }) => control.script('FLUSH'))),
      },
    })),
    connect() {
      const client = new Cluster(
        ports.map((port) => ({ host: '127.0.0.1', port })),
        { redisOptions: NO_RETRIES },
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
