/** A store on a Memcached server behind a network with faults. The server is stopped, killed and emptied. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'memjs';
import { memcached } from '../../src/stores/memcached/index.ts';
import { proxyTo } from '../stores/redis/proxy.ts';
import { freePort, listening } from 'sluice-test-support/redis/server.ts';
import type { Backend } from './scenario.ts';
import { networkFaults, faultInjector } from './fault-injection.ts';

export async function casBackend(): Promise<Backend> {
  const port = await freePort();
  let server = await serverOn(port);
  const network = await proxyTo(port);
  return {
    name: 'memcached',
    isInOrder: true,
    injector: faultInjector((losing) => ({
      ...networkFaults(network),
      stop: {
        async inject(draw) {
          server.kill('SIGSTOP');
          await sleep(100 + draw(500));
          server.kill('SIGCONT');
        },
      },
      kill: {
        inject: (draw) =>
          losing(async () => {
            await ended(server);
            await sleep(draw(500));
            server = await serverOn(port);
          }),
      },
    })),
    connect() {
      // The timeout is longer than any fault. Otherwise, the client would open another connection, on which a later write could
      // overtake an earlier write that the network delays.
      const client = Client.create(`127.0.0.1:${network.port}`, { timeout: 60, logger: { log() {} } });
      return {
        store: (options) => memcached(client, { onFailure: 'throw', ...options }),
        close: () => client.close(),
      };
    },
    rows: async () => 0,
    async stop() {
      await ended(server);
      await network.stop();
    },
  };
}

async function serverOn(port: number): Promise<ChildProcess> {
  const args = ['-p', String(port), '-l', '127.0.0.1', '-U', '0', '-u', 'nobody'];
  const child = spawn('memcached', args, { stdio: 'ignore' });
  await listening(port, child);
  return child;
}

async function ended(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
