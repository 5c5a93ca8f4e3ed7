/** Runs a real Memcached server on a free port for tests. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { freePort, listening, type Server } from '../redis/server.ts';

/** Starts a server. Retries, because another process may take the port in the meantime. */
export async function memcachedServer(): Promise<Server> {
  for (let triesLeft = 4; ; triesLeft--) {
    const port = await freePort();
    const child = spawn('memcached', ['-p', String(port), '-l', '127.0.0.1', '-U', '0', '-u', 'nobody'], {
      stdio: 'ignore',
    });
    const gone = once(child, 'exit');
    try {
      await listening(port, child);
    } catch (error) {
      child.kill('SIGKILL');
      if (triesLeft === 0) throw error;
      continue;
    }
    return {
      port,
      process: child,
      async stop(signal = 'SIGKILL') {
        child.kill(signal);
        await gone;
      },
    };
  }
}
