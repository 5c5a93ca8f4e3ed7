/** A Postgres server behind a network with faults. Its table is locked and emptied, and its processes are stopped and killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { postgres } from '../../src/stores/postgres/index.ts';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';
import { proxyTo } from '../stores/redis/proxy.ts';
import type { Backend } from './scenario.ts';
import { becomesTrue, networkFaults, faultInjector } from './fault-injection.ts';

export async function postgresBackend(): Promise<Backend> {
  const server = await postgresServer();
  const network = await proxyTo(server.port);
  // A busy machine may take many seconds to accept a connection.
  const admin = server.pool({ max: 3, connectionTimeoutMillis: 60_000 });
  /** Process ids of the connections that serve the stores. */
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
        // The process has ended.
      }
    }
  };
  const rowsLike = async (start: string, before = 'infinity'): Promise<number> => {
    const text = 'SELECT count(*) FROM sluice WHERE starts_with(key, $1) AND expires <= $2';
    const { rows } = await admin.query<{ count: string }>(text, [start, before]);
    return Number(rows[0]?.count);
  };
  return {
    name: 'postgres',
    isInOrder: true,
    injector: faultInjector((losing) => ({
      ...networkFaults(network),
      terminate: {
        inject: () =>
          admin.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'soak'",
          ),
      },
      lock: {
        async inject(draw) {
          const client = await admin.connect();
          await client.query('BEGIN; LOCK TABLE sluice IN ACCESS EXCLUSIVE MODE');
          await sleep(50 + draw(500));
          await client.query('COMMIT');
          client.release();
        },
      },
      stop: {
        async inject(draw) {
          const pids = await backends();
          signal(pids, 'SIGSTOP');
          await sleep(100 + draw(500));
          signal(pids, 'SIGCONT');
        },
      },
      truncate: { inject: () => losing(() => admin.query('TRUNCATE sluice')) },
      // When one of its processes dies, Postgres restarts all of them and empties unlogged tables.
      crash: {
        needs: 4000,
        inject: () =>
          losing(async () => {
            await admin.query(
              "INSERT INTO sluice VALUES ('before', '', 1, 'infinity') ON CONFLICT DO NOTHING",
            );
            const { rows } = await admin.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
            signal([rows[0].pid], 'SIGKILL');
            if (!(await becomesTrue(async () => (await rowsLike('before')) === 0, 60_000)))
              throw new Error('Postgres did not come back');
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
      return { store: (options) => postgres(pool, { onFailure: 'throw', ...options }), close: () => {} };
    },
    // Rows are kept for ten seconds after they are fully replenished, so only rows that have expired count.
    rows: (name) => rowsLike(`${name}:`, 'now'),
    async stop() {
      network.cut();
      await server.stop();
      await network.stop();
    },
  };
}
