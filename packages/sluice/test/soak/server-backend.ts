/**
 * Two Sluice servers on one Redis, called through their HTTP and RESP listeners. One of the servers is restarted from time to
 * time.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { type Decision, memory, type Store, StoreUnavailable } from '../../src/index.ts';
import type { Hit } from '../../src/store.ts';
import { freePort, listening } from 'sluice-test-support/redis/server.ts';
import { NO_RETRIES } from './redis-backend.ts';
import type { Backend, Connection } from './scenario.ts';
import { faultInjector } from './fault-injection.ts';

/** The server runs from the built files. */
const COMMAND = fileURLToPath(new URL('../../../sluice-server/bin/sluice.js', import.meta.url));

interface Process {
  readonly http: number;
  readonly resp: number;
  child: ChildProcess;
  /** Resolves to its exit code. */
  gone: Promise<number | null>;
}

export interface Servers extends Backend {
  /** Resident memory, in bytes, of the server that is never restarted. */
  resident(): Promise<number>;
}

/** The policies of `staysWithinLimit`, as a configuration file. */
function limitsOf(scenario: string, limit: number): string {
  const rate = { algorithm: 'gcra', limit, per: '1s' };
  const limits = {
    [`${scenario} gcra`]: { policies: rate },
    [`${scenario} bucket`]: {
      policies: { algorithm: 'token-bucket', capacity: limit, refill: limit, every: '1s' },
    },
    [`${scenario} several`]: {
      policies: {
        rate,
        log: { algorithm: 'sliding-log', limit: 3 * limit, per: '2s', resolution: 20 },
        day: { algorithm: 'fixed-window', limit: 1e9, per: '1d' },
      },
    },
  };
  return JSON.stringify({ limits });
}

/** Creates the backend for `staysWithinLimit` with this scenario and limit. `redisPort` is the port of the store. */
export async function serverBackend(scenario: string, limit: number, redisPort: number): Promise<Servers> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-soak-'));
  const config = join(folder, 'limits.yaml');
  const write = (text: string): void => writeFileSync(config, text);
  const good = limitsOf(scenario, limit);
  write(good);

  async function start({
    http,
    resp,
  }: Pick<Process, 'http' | 'resp'>): Promise<Pick<Process, 'child' | 'gone'>> {
    const flags = {
      config,
      http: `127.0.0.1:${http}`,
      resp: `127.0.0.1:${resp}`,
      store: `redis://127.0.0.1:${redisPort}`,
      page: 'none',
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    args.push('--allow-admin-without-token', '--on-failure', 'throw');
    const child = spawn(process.execPath, [COMMAND, 'serve', ...args], { stdio: 'ignore' });
    const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
    for (const port of [http, resp]) await listening(port, child);
    return { child, gone };
  }
  const open = async (): Promise<Process> => {
    const ports = { http: await freePort(), resp: await freePort() };
    return { ...ports, ...(await start(ports)) };
  };
  const [restarted, permanent] = await Promise.all([open(), open()]);
  let connections = 0;

  return {
    name: 'server',
    isInOrder: false,
    // No fault here loses rows, because the rows are in Redis, which has its own fault injector.
    injector: faultInjector(
      () => ({
        killed: {
          async inject() {
            restarted.child.kill('SIGKILL');
            await restarted.gone;
            Object.assign(restarted, await start(restarted));
          },
        },
        drained: {
          async inject() {
            restarted.child.kill('SIGTERM');
            const code = await restarted.gone;
            if (code !== 0) throw new Error(`the server ended with ${code}`);
            Object.assign(restarted, await start(restarted));
          },
        },
        stopped: {
          async inject(draw) {
            const { child } = [restarted, permanent][draw(2)];
            child.kill('SIGSTOP');
            await sleep(100 + draw(500));
            child.kill('SIGCONT');
          },
        },
        // The server keeps the previous configuration.
        'bad configuration': {
          async inject(draw) {
            write('limits: { gcra: nonsense');
            await sleep(300 + draw(500));
            write(good);
          },
        },
      }),
      PAUSE,
    ),
    connect() {
      const number = connections++;
      const { http, resp } = [restarted, permanent][number % 2];
      return number % 4 < 2 ? overHttp(http) : overResp(http, resp);
    },
    rows: async () => 0,
    async resident() {
      const response = await fetch(`http://127.0.0.1:${permanent.http}/metrics`);
      return Number(/^process_resident_memory_bytes (\S+)/m.exec(await response.text())?.[1]);
    },
    async stop() {
      for (const { child, gone } of [restarted, permanent]) {
        child.kill('SIGKILL');
        await gone;
      }
      rmSync(folder, { recursive: true });
    },
  };
}

/** Milliseconds between faults, because it takes a while to start a process. */
const PAUSE = 1200;

function overHttp(port: number): Connection {
  return {
    store: ({ deadline }) => storeBy((hit) => ask(port, hit, deadline)),
    close: () => {},
  };
}

/** Members of the request body, by verb. */
const MEMBERS: Readonly<Record<string, (hit: Hit) => object>> = {
  take: ({ cost, mode }) => ({ cost, mode }),
  peek: ({ cost }) => ({ cost }),
  refund: ({ cost }) => ({ cost }),
  block: ({ span }) => ({ duration: span }),
};

async function ask(port: number, hit: Hit, deadline: number): Promise<Decision> {
  const { verb, plan, key } = hit;
  const body = JSON.stringify({ limit: plan.name, key, ...MEMBERS[verb](hit) });
  const signal = AbortSignal.timeout(deadline);
  const [status, text] = await fetch(`http://127.0.0.1:${port}/v1/${verb}`, { method: 'POST', body, signal })
    .then(async (response) => [response.status, await response.text()] as const)
    .catch((error: unknown) => {
      throw new StoreUnavailable('connection', error);
    });
  if (status === 503) throw new StoreUnavailable('connection', text);
  if (status !== 200) throw new Error(`${status} ${text}`);
  return JSON.parse(text) as Decision;
}

/** Hits for which RESP has no command are sent to the HTTP listener. */
function overResp(http: number, port: number): Connection {
  const client = new Redis(port, '127.0.0.1', { ...NO_RETRIES, commandTimeout: 1000 });
  client.on('error', () => {});
  async function throttle({ plan, key, cost: given }: Hit): Promise<Decision> {
    const cost = Number(given);
    const reply = await client.call('THROTTLE', key, plan.name, cost).catch((error: Error) => {
      if (error.name === 'ReplyError' && !error.message.startsWith('UNAVAILABLE')) throw error;
      throw new StoreUnavailable('connection', error);
    });
    const [limited, limit, remaining] = reply as number[];
    const allowed = limited === 0;
    const taken = allowed ? cost : 0;
    return {
      allowed,
      taken,
      limit,
      remaining,
      retryAfter: 0,
      resetAfter: 0,
      policy: '',
      policies: [],
      source: 'store',
    };
  }
  return {
    store: ({ deadline }) =>
      storeBy((hit) =>
        hit.verb === 'take' && hit.mode === 'whole' ? throttle(hit) : ask(http, hit, deadline),
      ),
    close: () => client.disconnect(),
  };
}

const { clock } = memory();
const storeBy = (apply: (hit: Hit) => Promise<Decision>): Store<Promise<Decision>> => ({
  clock,
  apply,
  close: () => {},
});
