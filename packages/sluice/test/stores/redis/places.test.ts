/** Places of `concurrency` that several processes share over Redis. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { concurrency, createLimiter, gcra, type Policies } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';

interface Work {
  readonly name: string;
  readonly limit: number;
  readonly lease: number;
  readonly job: number;
  readonly lanes: number;
  readonly span: number;
}

let runners: readonly ChildProcess[] = [];

async function runner(): Promise<ChildProcess> {
  const program = new URL('runner.mjs', import.meta.url);
  const child = fork(program, [String(inject('redisPort'))]);
  await once(child, 'message');
  return child;
}

/** Two limiters over one Redis, as two processes would have them. */
function twoLimiters(policies: Policies, name: string) {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  const open = () => createLimiter(policies, { store: redis(client, { deadline: '20s' }), name });
  return { here: open(), there: open(), end: () => client.disconnect() };
}

/** Runs the same work in all processes. */
function runAll(work: Work): Promise<{ turns: number; most: number }[]> {
  return Promise.all(
    runners.map(async (child) => {
      child.send(work);
      const [answer] = (await once(child, 'message')) as [{ turns: number; most: number }];
      return answer;
    }),
  );
}

beforeAll(async () => {
  runners = await Promise.all([runner(), runner()]);
}, 60_000);
afterAll(() => {
  for (const child of runners) child.kill();
});

describe('two processes', () => {
  test('never run more jobs than there are places, even if a job takes four lease durations', {
    timeout: 30_000,
  }, async () => {
    const name = `long jobs ${process.pid}`;
    const answers = await runAll({ name, limit: 2, lease: 700, job: 3000, lanes: 8, span: 4000 });
    expect(Math.max(...answers.map(({ most }) => most))).toBe(2);
    expect(answers[0].turns + answers[1].turns).toBeGreaterThanOrEqual(2);
  });

  test.each([
    { limit: 1, lanes: 1 },
    { limit: 1, lanes: 3 },
    { limit: 4, lanes: 12 },
  ])(
    'each get between a quarter and three quarters of the turns, with $limit places and $lanes callers per process',
    { timeout: 30_000 },
    async ({ limit, lanes }) => {
      const name = `turns ${limit} ${lanes} ${process.pid}`;
      const answers = await runAll({ name, limit, lease: 60_000, job: 15, lanes, span: 5000 });
      const [a, b] = answers.map(({ turns }) => turns);
      expect(Math.max(...answers.map(({ most }) => most))).toBe(limit);
      expect(a / (a + b)).toBeGreaterThan(0.25);
      expect(a / (a + b)).toBeLessThan(0.75);
    },
  );
});

describe('a waiter', () => {
  test('notices within about a second that another process has refunded units', {
    timeout: 20_000,
  }, async () => {
    const { here, there, end } = twoLimiters(gcra({ limit: 1, per: '1h' }), `refund ${process.pid}`);
    const charge = await there.take('k');
    const began = performance.now();
    const waiting = here.acquire('k', { timeout: '15s' });
    await there.refund('k', { of: charge });
    expect((await waiting).allowed).toBe(true);
    expect(performance.now() - began).toBeLessThan(8000);
    end();
  });

  test('quickly notices that another process has released a place', { timeout: 20_000 }, async () => {
    const { here, there, end } = twoLimiters(
      concurrency({ limit: 1, lease: '1h' }),
      `release ${process.pid}`,
    );
    const place = await there.take('k');
    const waiting = here.acquire('k', { timeout: '15s' });
    await there.release('k', { of: place });
    expect((await waiting).allowed).toBe(true);
    end();
  });
});

test('a release after the lease has ended does not free a place of another process', async () => {
  const { here, there, end } = twoLimiters(concurrency({ limit: 2, lease: 1000 }), `lost ${process.pid}`);
  const lost = await here.take('k');
  await sleep(1100);
  const [first, second] = [await there.take('k'), await there.take('k')];
  there.keep('k', { of: first });
  there.keep('k', { of: second });
  expect(await here.release('k', { of: lost })).toMatchObject({ allowed: false, remaining: 0 });
  await there.release('k', { of: first });
  await there.release('k', { of: second });
  expect((await here.peek('k')).remaining).toBe(2);
  end();
});
