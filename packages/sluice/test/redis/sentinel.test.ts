import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Redis as Valkey } from 'iovalkey';
import { createSentinel } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLimiter, gcra, StoreUnavailable } from '../../src/index.ts';
import { type BreakerEvent, redis } from '../../src/stores/redis/index.ts';
import { type Connected, ioredis } from './clients.ts';
import { freePort, listening, redisServer, type Server } from './server.ts';
import { inFlight, outcome, rejections, unpunctuality, until } from './watch.ts';

const DEADLINE = 50;
const NAME = 'mymaster';

async function startSentinel(master: number): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'));
  const file = join(dir, 'sentinel.conf');
  writeFileSync(
    file,
    [
      `port ${port}`,
      `dir ${dir}`,
      'bind 127.0.0.1',
      `sentinel monitor ${NAME} 127.0.0.1 ${master} 2`,
      `sentinel down-after-milliseconds ${NAME} 500`,
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

let master: Server;
let replica: Server;
let sentinels: Awaited<ReturnType<typeof startSentinel>>[] = [];

beforeAll(async () => {
  master = await redisServer();
  replica = await redisServer({
    args: ['--replicaof', `127.0.0.1 ${master.port}`, '--repl-diskless-sync-delay', '0'],
  });
  sentinels = await Promise.all([1, 2, 3].map(() => startSentinel(master.port)));
  // They have found each other and the replica.
  for (const { port } of sentinels) {
    const control = ioredis(port);
    await until(async () => {
      const [state] = (await control.call('SENTINEL', 'MASTERS')) as string[][];
      const of = (field: string): string => state[state.indexOf(field) + 1];
      return of('num-other-sentinels') === '2' && of('num-slaves') === '1';
    }, 20_000);
    control.disconnect();
  }
}, 60_000);

afterAll(async () => {
  await Promise.all([...sentinels, master, replica].map((one) => one.stop()));
});

const CLIENTS: Readonly<Record<string, () => Promise<Connected>>> = {
  async ioredis() {
    const client = new Redis({ sentinels: addresses(), name: NAME, retryStrategy: () => 50 });
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async iovalkey() {
    const client = new Valkey({ sentinels: addresses(), name: NAME, retryStrategy: () => 50 });
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async 'node-redis'() {
    const client = createSentinel({ name: NAME, sentinelRootNodes: addresses() }).on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
};

function addresses(): { host: string; port: number }[] {
  return sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
}

test('a master that is killed has a successor, and nothing hangs in between', async () => {
  const unhandled = rejections();
  const LIMIT = 20_000;
  const rows = await Promise.all(
    Object.entries(CLIENTS).map(async ([name, connect]) => {
      const connected = await connect();
      const events: BreakerEvent[] = [];
      const store = redis(connected.client, { deadline: DEADLINE, onEvent: (event) => events.push(event) });
      const limiter = createLimiter(gcra({ limit: LIMIT, per: '365d' }), { store, name });
      return { name, connected, events, limiter, passed: 0, failed: 0, back: 0 };
    }),
  );
  try {
    for (const { name, limiter } of rows) {
      const result = await outcome(() =>
        until(async () => (await outcome(() => limiter.take('a'))).value?.source === 'store', 2000),
      );
      expect(result.error, `${name} works through sentinels`).toBe(undefined);
    }
    for (const row of rows) row.events.length = 0;

    const late = unpunctuality();
    let running = true;
    let slowest = 0;
    const strange: unknown[] = [];
    const checking = rows.map((row) =>
      inFlight(8, Infinity, async () => {
        if (!running) throw new Error('over');
        const { value, error, took } = await outcome(() => row.limiter.take('a'));
        slowest = Math.max(slowest, took);
        if (value?.allowed) row.passed++;
        else row.failed++;
        if (error !== undefined && !(error instanceof StoreUnavailable)) strange.push(error);
        if (value?.source === 'store' && killed > 0 && row.back === 0 && row.events.length > 0)
          row.back = performance.now() - killed;
        await sleep(2);
      }).catch(() => {}),
    );
    let killed = 0;
    await until(() => rows.every(({ passed }) => passed > 100));
    await master.stop('SIGKILL');
    killed = performance.now();
    await until(() => rows.every(({ back }) => back > 0), 30_000);
    running = false;
    await Promise.all(checking);
    const lateness = late.stop();
    expect(slowest).toBeLessThanOrEqual(DEADLINE + 10 + lateness);
    expect(strange).toEqual([]);
    for (const { events } of rows) {
      expect(events[0].type).toBe('open');
      expect(events.at(-1)?.type).toBe('close');
    }
    for (const { limiter, passed, failed } of rows) {
      const { remaining } = await limiter.peek('a');
      // Each was counted once, but for the few of which the replica had not heard, or nobody knows.
      expect(LIMIT - remaining).toBeLessThanOrEqual(passed + failed + 1);
      expect(LIMIT - remaining).toBeGreaterThan(passed - 100);
    }
  } finally {
    for (const { connected } of rows) await connected.close();
    await unhandled.stop();
  }
  expect(unhandled.seen).toEqual([]);
}, 60_000);
