/** The stores of a run, the faults injected into them, and the scenarios that check them. */
import { leased } from '../../src/index.ts';
import { staysWithinLimit } from './limit-scenarios.ts';
import { casBackend } from './cas-backend.ts';
import { clusterBackend } from './cluster-backend.ts';
import { checkedDenyCache } from './deny-cache-check.ts';
import { models, sameAsMemory } from './exact-scenarios.ts';
import { ipcBackend, ipcProcesses } from './ipc-backend.ts';
import { spendsAllLeases, leasesInMemory } from './lease-scenario.ts';
import { postgresBackend } from './postgres-backend.ts';
import { redisBackend, valkeyBackend } from './redis-backend.ts';
import { flood, rowsInMemory, rowsOf } from './row-scenarios.ts';
import type { Scenario } from './scenario.ts';
import { serverBackend } from './server-backend.ts';
import { syncedNodes } from './synced-scenario.ts';
import { sharedMemoryBackend, threads } from './threads-scenario.ts';
import type { FaultInjector } from './fault-injection.ts';
import { waiting } from './waiting-scenario.ts';

export interface Setup {
  readonly scenarios: readonly Scenario[];
  /** Fault injectors by store. A store may have two injectors, which are independent of each other. */
  readonly injectors: readonly (readonly [store: string, injector: FaultInjector])[];
  /** Injectors of other stores whose faults also affect this store. */
  readonly dependencies: Setup['injectors'];
  /** Resident memory of the server process, in bytes. */
  resident(): Promise<number>;
  stop(): Promise<void>;
}

export async function setUp(): Promise<Setup> {
  const redis = await redisBackend();
  const [server, valkey, cluster, postgres, cas, ipc, processes] = await Promise.all([
    serverBackend('server: within the limit', 40, redis.port),
    valkeyBackend(),
    clusterBackend(),
    postgresBackend(),
    casBackend(),
    ipcBackend(),
    ipcProcesses(),
  ]);
  const shared = threads();
  const leases = leasesInMemory();
  const backends = [redis, valkey, cluster, postgres, cas, ipc];
  return {
    scenarios: [
      models,
      flood,
      rowsInMemory,
      shared.scenario,
      processes.scenario,
      waiting(redis),
      ...[sharedMemoryBackend, ...backends].map(sameAsMemory),
      ...[redis, cluster, postgres].map(rowsOf),
      staysWithinLimit(redis, { scenario: 'redis: within the limit', limit: 200 }),
      // A lease lasts at most a quarter of the window.
      staysWithinLimit(redis, {
        scenario: 'redis: within the limit, leased',
        limit: 150,
        largest: 5,
        kept: 300,
        wrap: (store) => leased(store, { nodes: 4 }),
      }),
      spendsAllLeases(redis),
      leases.scenario,
      syncedNodes(redis),
      staysWithinLimit(redis, {
        scenario: 'redis: within the limit, deny cache',
        limit: 100,
        wrap: (store, run) => checkedDenyCache(store, run, 'redis: deny cache'),
      }),
      staysWithinLimit(cluster, { scenario: 'redis cluster: within the limit', limit: 100, pause: 60 }),
      // The Postgres store decides by an estimate of the server's time, which lags by the latency of the fastest reply so far.
      staysWithinLimit(postgres, {
        scenario: 'postgres: within the limit',
        limit: 60,
        behind: 50,
        deadline: 1000,
        pause: 100,
      }),
      // The Memcached store decides by this process's clock.
      staysWithinLimit(cas, {
        scenario: 'memcached: within the limit',
        limit: 60,
        isSteady: true,
        deadline: 1000,
        pause: 100,
      }),
      staysWithinLimit(server, {
        scenario: 'server: within the limit',
        limit: 40,
        losses: redis.injector.losses,
        isWithoutReservations: true,
        deadline: 1000,
        pause: 100,
      }),
    ],
    injectors: [
      ...backends.map(({ name, injector }) => [name, injector] as const),
      ['ipc', processes.injector],
      ['shared memory', shared.injector],
      ['memory', leases.injector],
      ['server', server.injector],
    ],
    dependencies: [['server', redis.injector]],
    resident: () => server.resident(),
    async stop() {
      await Promise.all([...backends, processes, server].map((one) => one.stop()));
    },
  };
}
