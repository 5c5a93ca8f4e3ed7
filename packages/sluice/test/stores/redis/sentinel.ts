/** Runs sentinels, which tell clients which server is the master, and connects clients that use them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createSentinel } from 'redis';
import type { Connected } from 'sluice-test-support/redis/clients.ts';
import { OLD_SENTINEL_CLIENTS } from 'sluice-test-support/redis/old-clients.ts';
import { freePort, listening, NAME } from 'sluice-test-support/redis/server.ts';

export interface Sentinel {
  readonly port: number;
  stop(): Promise<void>;
}

export async function startSentinel(master: number, quorum: number): Promise<Sentinel> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'));
  const file = join(dir, 'sentinel.conf');
  writeFileSync(
    file,
    [
      `port ${port}`,
      `dir ${dir}`,
      'bind 127.0.0.1',
      `sentinel monitor ${NAME} 127.0.0.1 ${master} ${quorum}`,
      // On a busy machine a master may be silent for a second. A sentinel that was itself stopped for two
      // seconds does nothing for thirty seconds. With this value, no master is replaced before a test kills it.
      `sentinel down-after-milliseconds ${NAME} 2500`,
      `sentinel failover-timeout ${NAME} 3000`,
    ].join('\n'),
  );
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  const gone = once(child, 'exit');
  await listening(port, child);
  return {
    port,
    async stop() {
      child.kill('SIGKILL');
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Every client that supports sentinels, with its default settings. */
export const SENTINEL_CLIENTS: Readonly<
  Record<string, (sentinels: readonly number[]) => Promise<Connected>>
> = {
  async ioredis(ports) {
    const client = new Redis({ sentinels: at(ports), name: NAME });
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async iovalkey(ports) {
    const client = new Valkey({ sentinels: at(ports), name: NAME });
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async 'node-redis'(ports) {
    const client = createSentinel({ name: NAME, sentinelRootNodes: at(ports) });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  ...OLD_SENTINEL_CLIENTS,
};

function at(ports: readonly number[]): { host: string; port: number }[] {
  return ports.map((port) => ({ host: '127.0.0.1', port }));
}
