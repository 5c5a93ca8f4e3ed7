/** Leases in real processes on a real Redis. One process is killed while another one stalls. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLimiter, fixedWindow, gcra } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { overAdmitted, type Spend, total } from './simulation.ts';

let server: Server;
let client: Redis;
let holders: Holder[] = [];

beforeAll(async () => {
  server = await redisServer();
  client = new Redis(server.port);
});
beforeEach(async () => {
  await client.flushall();
  await client.config('RESETSTAT');
});
afterAll(async () => {
  for (const { child } of holders) child.kill('SIGKILL');
  client.disconnect();
  await server.stop();
});

interface Holder {
  readonly child: ChildProcess;
  /** What the process admitted, one line per report. */
  text: string;
  tell(order: object): Promise<number>;
  /** Resolves when all output of the process has arrived. */
  ended: Promise<unknown>;
}

async function holder(policy: object): Promise<Holder> {
  const args = [server.port, policy].map((arg) => JSON.stringify(arg));
  const child = fork(new URL('./lease-holder.mjs', import.meta.url), args, { silent: true });
  child.stderr?.pipe(process.stderr);
  const one: Holder = {
    child,
    text: '',
    ended: once(child, 'close'),
    async tell(order) {
      child.send(order);
      return Number((await once(child, 'message'))[0]);
    },
  };
  child.stdout?.on('data', (part) => (one.text += String(part)));
  await once(child, 'message');
  holders.push(one);
  return one;
}

/** Ends all processes and returns what they admitted, in order of time. */
async function harvest(): Promise<Spend[]> {
  for (const { child } of holders) child.kill();
  await Promise.all(holders.map(({ ended }) => ended));
  const spends = holders.flatMap(({ text }, node) =>
    text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' ').map(Number))
      .map(([at, cost]) => ({ at, cost, node })),
  );
  holders = [];
  return spends.toSorted((a, b) => a.at - b.at);
}

async function calls(): Promise<number> {
  const stats = await client.info('commandstats');
  const counts = [...stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+)/g)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

test('four processes admit no more than the limit while one is killed and one stalls with leases in hand', async () => {
  const policy = { limit: 1000, per: '1s', burst: 10_000 };
  const [killed, stalled, ...others] = await Promise.all(Array.from({ length: 4 }, () => holder(policy)));
  const flood = { flood: 3000 };
  killed.tell(flood).catch(() => {});
  const stall = async (): Promise<number> => {
    const before = await stalled.tell({ flood: 500 });
    await stalled.tell({ stall: 500 });
    return before + (await stalled.tell({ flood: 1500 }));
  };
  const floods = [...others.map((one) => one.tell(flood)), stall()];
  await sleep(800);
  killed.child.kill('SIGKILL');
  const decisions = (await Promise.all(floods)).reduce((sum, count) => sum + count, 0);
  const script = await calls();
  const spends = await harvest();

  // A report covers a millisecond or two and has the time of its end, so units may seem to pass later than they did.
  const allowed = gcra({ ...policy, burst: policy.burst + 20 });
  expect(overAdmitted(allowed, spends)).toBe(0);
  expect(total(spends)).toBeGreaterThan(8000);
  expect(decisions).toBeGreaterThan(2 * total(spends));
  expect(script / decisions).toBeLessThan(0.02);
}, 60_000);

test('close returns unused units, and a process that is killed loses at most its lease', async () => {
  const policy = { limit: 10_000, per: '1d', align: 'first' } as const;
  const inspector = createLimiter(fixedWindow(policy), {
    store: redis(client, { onFailure: 'throw', deadline: '10s' }),
    name: 'leases',
  });
  const left = async (): Promise<number> => (await inspector.peek('key')).remaining;
  const [polite, killed] = await Promise.all([holder(policy), holder(policy)]);

  for (let i = 0; i < 5; i++) await polite.tell({ takes: 50 });
  const whileHeld = await left();
  expect(whileHeld).toBeLessThan(10_000 - 250);
  await polite.tell({ close: true });
  expect(await left()).toBe(10_000 - 250);

  for (let i = 0; i < 5; i++) await killed.tell({ takes: 50 });
  killed.child.kill('SIGKILL');
  await sleep(50);
  const after = await left();
  const spends = await harvest();
  expect(total(spends)).toBe(500);
  expect(after).toBeLessThan(10_000 - 500);
  expect(after).toBeGreaterThan(10_000 - 500 - 250 / 2);
}, 60_000);

test('ten processes that exit without close() lose fewer than half as many units as they spent', async () => {
  const policy = { limit: 10_000, per: '1d', align: 'first' } as const;
  for (let i = 0; i < 10; i++) {
    const one = await holder(policy);
    await one.tell({ takes: 50 });
    one.child.kill();
    await one.ended;
  }
  const spends = total(await harvest());
  expect(spends).toBe(500);
  const inspector = createLimiter(fixedWindow(policy), { store: redis(client), name: 'leases' });
  const lost = 10_000 - spends - (await inspector.peek('key')).remaining;
  expect(lost).toBeLessThan(spends / 2);
}, 60_000);
