/** Who takes part: the stores, what happens to them, and what is looked at. */
import { leased } from '../../src/index.ts';
import { neverOver } from './bound-scenes.ts';
import { casBackend } from './cas-backend.ts';
import { clusterBackend } from './cluster-backend.ts';
import { denialsKept } from './denials.ts';
import { models, sameAsMemory } from './exact-scenes.ts';
import { ipcBackend, ipcProcesses } from './ipc-backend.ts';
import { spentAtOnce, spentInMemory } from './lease-scene.ts';
import { postgresBackend } from './postgres-backend.ts';
import { redisBackend, valkeyBackend } from './redis-backend.ts';
import { flood, rowsHere, rowsOf } from './row-scenes.ts';
import type { Scene } from './scene.ts';
import { serverBackend } from './server-backend.ts';
import { toldLate } from './synced-scene.ts';
import { sharedMemoryBackend, threads } from './threads-scene.ts';
import type { Trouble } from './trouble.ts';
import { waiting } from './waiting-scene.ts';

export interface Cast {
  readonly scenes: readonly Scene[];
  /** By store; one may have two, which do not know of each other. */
  readonly troubles: readonly (readonly [store: string, trouble: Trouble])[];
  /** Whose faults a store feels beside its own. */
  readonly reasons: Cast['troubles'];
  /** Bytes of another process. */
  resident(): Promise<number>;
  stop(): Promise<void>;
}

export async function cast(): Promise<Cast> {
  const redis = await redisBackend();
  const [server, valkey, cluster, postgres, cas, ipc, processes] = await Promise.all([
    serverBackend('server: never over', 40, redis.port),
    valkeyBackend(),
    clusterBackend(),
    postgresBackend(),
    casBackend(),
    ipcBackend(),
    ipcProcesses(),
  ]);
  const shared = threads();
  const leases = spentInMemory();
  const backends = [redis, valkey, cluster, postgres, cas, ipc];
  return {
    scenes: [
      models,
      flood,
      rowsHere,
      shared.scene,
      processes.scene,
      waiting(redis),
      ...[sharedMemoryBackend, ...backends].map(sameAsMemory),
      ...[redis, cluster, postgres].map(rowsOf),
      neverOver(redis, { scene: 'redis: never over', limit: 200 }),
      // A lease lasts a quarter of the window at most.
      neverOver(redis, {
        scene: 'redis: never over, leased',
        limit: 150,
        largest: 5,
        kept: 300,
        wrap: (store) => leased(store, { nodes: 4 }),
      }),
      spentAtOnce(redis),
      leases.scene,
      toldLate(redis),
      neverOver(redis, {
        scene: 'redis: never over, denials kept',
        limit: 100,
        wrap: (store, stage) => denialsKept(store, stage, 'redis: denials kept'),
      }),
      neverOver(cluster, { scene: 'redis cluster: never over', limit: 100, pause: 60 }),
      // It decides by this process's idea of the server's time, which is behind by the way of the quickest reply so far.
      neverOver(postgres, {
        scene: 'postgres: never over',
        limit: 60,
        behind: 50,
        deadline: 1000,
        pause: 100,
      }),
      // It decides by this process's clock.
      neverOver(cas, {
        scene: 'memcached: never over',
        limit: 60,
        isSteady: true,
        deadline: 1000,
        pause: 100,
      }),
      neverOver(server, {
        scene: 'server: never over',
        limit: 40,
        losses: redis.trouble.losses,
        isNow: true,
        deadline: 1000,
        pause: 100,
      }),
    ],
    troubles: [
      ...backends.map(({ name, trouble }) => [name, trouble] as const),
      ['ipc', processes.trouble],
      ['shared memory', shared.trouble],
      ['memory', leases.trouble],
      ['server', server.trouble],
    ],
    reasons: [['server', redis.trouble]],
    resident: () => server.resident(),
    async stop() {
      await Promise.all([...backends, processes, server].map((one) => one.stop()));
    },
  };
}
