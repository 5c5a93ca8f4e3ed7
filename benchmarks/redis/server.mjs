/** Starts a separate Redis server, so that other programs' keys and load are not measured, and reads its statistics. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

/**
 * The commands that clients send. The server also lists the calls that a script makes, but their time is already part of the
 * script's time.
 */
const SENT = ['evalsha', 'eval', 'multi', 'exec', 'ping'];
const SAMPLE = 1000;

/** The number of commands since the last CONFIG RESETSTAT, and the microseconds that they took. */
export async function spentOn(control) {
  const stats = await control.info('commandstats');
  const all = SENT.map((name) => new RegExp(`cmdstat_${name}:calls=(\\d+),usec=(\\d+)`).exec(stats));
  const sum = (column) => all.reduce((total, found) => total + Number(found?.[column] ?? 0), 0);
  return { calls: sum(1), usec: sum(2) };
}

export async function freePort() {
  const probe = createServer().listen(0);
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

export async function startServer() {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args, { stdio: 'ignore' });
  const failure = once(server, 'error').then(([error]) => Promise.reject(error));
  const control = new Redis(port, '127.0.0.1', { retryStrategy: () => 20, maxRetriesPerRequest: null });
  control.on('error', () => {}); // Errors are expected until the server listens.
  await Promise.race([control.ping(), failure]);
  failure.catch(() => {});

  return {
    port,
    control,
    version: (await control.info('server')).match(/redis_version:(\S+)/)[1],
    spent: () => spentOn(control),
    usedMemory: async () => Number((await control.info('memory')).match(/used_memory:(\d+)/)[1]),
    /** Average size of a key, in bytes, as MEMORY USAGE reports it for a sample of the keys. */
    async keySize() {
      const [, keys] = await control.scan(0, 'COUNT', SAMPLE);
      const sizes = await Promise.all(keys.map((key) => control.memory('USAGE', key, 'SAMPLES', 0)));
      return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    },
    async stop() {
      control.disconnect();
      server.kill();
      await once(server, 'exit');
    },
  };
}
