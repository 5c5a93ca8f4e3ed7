/** Every client in every topology that it supports, with one server behind a proxy. */
import { CLIENTS, type Connected, ioredis } from 'sluice-test-support/redis/clients.ts';
import { CLUSTER_CLIENTS } from './cluster.ts';
import { SENTINEL_CLIENTS, startSentinel } from './sentinel.ts';
import type { Server } from 'sluice-test-support/redis/server.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

/** Connects a client that reaches the server through this port. */
type Connect = (port: number, server: Server) => Promise<Connected>;

export const ROWS: Readonly<Record<string, Connect>> = {
  ...CLIENTS,
  ...renamed(SENTINEL_CLIENTS, 'by sentinels', (connect) => async (port) => {
    const sentinel = await startSentinel(port, 1);
    const connected = await connect([sentinel.port]);
    return {
      client: connected.client,
      async close() {
        await connected.close();
        await sentinel.stop();
      },
    };
  }),
  ...renamed(CLUSTER_CLIENTS, 'in a cluster', (connect) => async (port, server) => {
    const control = ioredis(server.port);
    await control.config('SET', 'cluster-announce-ip', '127.0.0.1', 'cluster-announce-port', port);
    await control.cluster('ADDSLOTSRANGE', 0, 16_383);
    await until(async () => String(await control.cluster('INFO')).includes('cluster_state:ok'));
    control.disconnect();
    return connect([port]);
  }),
};

function renamed<T>(
  clients: Readonly<Record<string, T>>,
  where: string,
  through: (connect: T) => Connect,
): Record<string, Connect> {
  return Object.fromEntries(
    Object.entries(clients).map(([name, connect]) => [`${name} ${where}`, through(connect)]),
  );
}
