/** Tests waiting for a turn when several processes share a key. */
import { Redis } from 'ioredis';
import { afterAll, expect, inject, test } from 'vitest';
import { concurrency, createLimiter, gcra, type Policies } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

const clients: Redis[] = [];
afterAll(() => {
  for (const client of clients) client.disconnect();
});

/** A limiter on its own connection, as another process would have. */
function open(policies: Policies, name: string) {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  clients.push(client);
  return createLimiter(policies, {
    store: redis(client, { onFailure: 'throw', deadline: '10s' }),
    name: `${name} ${process.pid}`,
  });
}

test('callers of acquire wait for the announced time, and are served in order', async () => {
  const limiter = open(gcra({ limit: 20, per: '1s', burst: 1 }), 'in order');
  const order: number[] = [];
  const began = performance.now();
  await Promise.all([0, 1, 2, 3, 4].map((i) => limiter.acquire('k').then(() => order.push(i))));
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(performance.now() - began).toBeGreaterThan(190);
});

test('two processes that wait for the same key get no more turns in total than one process would get', async () => {
  const [a, b] = [open('50/s burst 5', 'shared'), open('50/s burst 5', 'shared')];
  const began = performance.now();
  await Promise.all(Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? a : b).acquire('k')));
  // 5 turns come immediately, then 25 at intervals of 20 ms.
  expect(performance.now() - began).toBeGreaterThan(490);
});

test('a place that another process releases is available long before its lease would have ended', async () => {
  const [a, b] = [
    open(concurrency({ limit: 1, lease: '1h' }), 'lease'),
    open(concurrency({ limit: 1, lease: '1h' }), 'lease'),
  ];
  await a.acquire('k');
  const waiting = b.acquire('k', { timeout: '20s' });
  await a.release('k');
  expect((await waiting).allowed).toBe(true);
});

test('a caller that stops waiting while it is being served gets its charge refunded', async () => {
  const limiter = open(gcra({ limit: 1, per: '1h', burst: 10 }), 'gives up');
  const abort = new AbortController();
  const waiting = limiter.acquire('k', { cost: 10, signal: abort.signal });
  abort.abort(new Error('never mind'));
  await expect(waiting).rejects.toThrow('never mind');
  await expect.poll(async () => (await limiter.peek('k')).remaining).toBe(10);
});

test('run holds a place on Redis, and frees it when the job is done', async () => {
  const limiter = open(concurrency({ limit: 2, lease: '1m' }), 'run');
  let [inFlight, most] = [0, 0];
  await Promise.all(
    Array.from({ length: 8 }, () =>
      limiter.run('k', async () => {
        most = Math.max(most, ++inFlight);
        // The first job waits for the second.
        await until(() => most > 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        inFlight--;
      }),
    ),
  );
  expect(most).toBe(2);
  expect((await limiter.peek('k')).remaining).toBe(2);
});
