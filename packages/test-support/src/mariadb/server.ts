/** Runs a real MariaDB server on a free port for tests, and removes its data afterwards. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort, listening } from '../redis/server.ts';

export interface MariadbServer {
  readonly port: number;
  /** The address of the database `test`, in which the user `sluice` may do everything. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Debian puts the server into a folder that may not be in PATH. */
const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` };
/** The server runs as root only with this flag. */
const USER = `--user=${userInfo().username}`;
/** Each statement is on its own line, as the server requires. */
const SETUP = `CREATE DATABASE test;
CREATE USER sluice@'127.0.0.1' IDENTIFIED BY 'sluice';
GRANT ALL ON *.* TO sluice@'127.0.0.1' WITH GRANT OPTION;
`;

/** Starts a server that does not wait for the disk. Retries, because another process may take the port in the meantime. */
export async function mariadbServer(): Promise<MariadbServer> {
  for (let triesLeft = 4; ; triesLeft--) {
    try {
      return await serverOn(await freePort());
    } catch (error) {
      if (triesLeft === 0) throw error;
    }
  }
}

async function serverOn(port: number): Promise<MariadbServer> {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-mariadb-'));
  const data = join(dir, 'data');
  const small = ['--innodb-log-file-size=4M', '--innodb-buffer-pool-size=16M'];
  execFileSync(
    'mariadb-install-db',
    [
      '--no-defaults',
      USER,
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      ...small,
    ],
    { stdio: 'ignore', env },
  );
  writeFileSync(join(dir, 'setup.sql'), SETUP);
  const child = spawn(
    'mariadbd',
    [
      '--no-defaults',
      USER,
      `--datadir=${data}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(dir, 'mariadb.sock')}`,
      `--pid-file=${join(dir, 'pid')}`,
      '--skip-name-resolve',
      `--init-file=${join(dir, 'setup.sql')}`,
      '--innodb-flush-log-at-trx-commit=0',
      ...small,
    ],
    { stdio: 'ignore', env },
  );
  const gone = once(child, 'exit');
  const remove = (): void => rmSync(dir, { recursive: true, force: true });
  try {
    await listening(port, child);
  } catch (error) {
    child.kill('SIGKILL');
    await gone;
    remove();
    throw error;
  }
  return {
    port,
    url: `mysql://sluice:sluice@127.0.0.1:${port}/test`,
    async stop() {
      child.kill('SIGKILL');
      await gone;
      remove();
    },
  };
}
