import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type Policies,
} from '../../../src/index.ts';
import { redis, type RedisOptions } from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { breakerOpen, outcome, outcomes, rejections, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 100;
const SLOTS = concurrency({ limit: 20, lease: '60s' });

type Async = Limiter<Promise<Decision>>;

describe('when Redis stalls, the store', () => {
  let server: Server;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  /**
   * A limiter over a server that can be stalled, and a second limiter, on its own connection, that shows what
   * the server has stored.
   */
  async function withLimiter<T>(
    policies: Policies,
    options: RedisOptions,
    run: (limiter: Async, witness: Async) => Promise<T>,
  ): Promise<T> {
    const clients = [ioredis(server.port), ioredis(server.port)];
    const unhandled = rejections();
    const store = redis(clients[0], { onFailure: 'throw', deadline: DEADLINE, ...options });
    const name = `late ${Math.random()}`;
    try {
      const limiter = createLimiter(policies, { store, name });
      await until(async () => (await outcome(() => limiter.peek('a'))).value?.source === 'store');
      return await run(
        limiter,
        createLimiter(policies, { store: redis(clients[1], { onFailure: 'throw', deadline: '10s' }), name }),
      );
    } finally {
      await store.close();
      for (const client of clients) client.disconnect();
      await unhandled.stop();
      expect(unhandled.seen).toEqual([]);
    }
  }

  /** Stops the server during the call, and for half a second in total. */
  async function stalled<T>(during: () => Promise<T>): Promise<T> {
    server.process.kill('SIGSTOP');
    const resumed = sleep(500).then(() => server.process.kill('SIGCONT'));
    try {
      return await during();
    } finally {
      await resumed;
    }
  }

  test.each(['throw', 'deny', 'allow', 'limiter'] as const)(
    'frees every place that was taken after the deadline, with onFailure %s',
    (kind) => {
      const onFailure = kind === 'limiter' ? createLimiter(SLOTS) : kind;
      return withLimiter(SLOTS, { onFailure }, async (limiter, witness) => {
        await stalled(() => outcomes(8, () => limiter.take('a')));
        expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
      });
    },
  );

  test('frees the places of callers that stopped waiting', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      await stalled(() => outcomes(8, () => limiter.acquire('a', { signal: AbortSignal.timeout(50) })));
      expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
    }));

  test.each(['throw', 'allow'] as const)(
    'frees places whose release failed during the stall, with onFailure %s',
    (onFailure) =>
      withLimiter(SLOTS, { onFailure }, async (limiter, witness) => {
        expect(
          (await outcomes(20, () => limiter.take('a'))).every(({ value }) => value?.source === 'store'),
        ).toBe(true);
        expect((await witness.peek('a')).remaining).toBe(0);
        await stalled(async () => {
          // The first calls reach the deadline, which opens the breaker. The others are not sent.
          await outcomes(8, () => limiter.release('a'));
          await outcomes(12, () => limiter.release('a'));
        });
        expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
      }),
  );

  test('frees the places of calls that end during the stall', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => (end = resolve));
      const runs = outcomes(20, () => limiter.run('a', () => ended));
      await until(async () => (await witness.peek('a')).remaining === 0);
      await stalled(async () => {
        // The breaker is open, so the releases are not sent.
        await breakerOpen(() => limiter.peek('a'));
        end();
        await runs;
      });
      expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
    }));

  test('frees one place, not two, if a caller repeats a failed release', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      await limiter.take('a');
      await outcomes(10, () => witness.take('a'));
      await stalled(async () => {
        await breakerOpen(() => limiter.peek('a'));
        // The breaker is open, so neither release is sent.
        for (let i = 0; i < 2; i++)
          expect((await outcome(() => limiter.release('a'))).error).toMatchObject({ fault: 'circuit-open' });
      });
      await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
      await sleep(300);
      expect((await witness.peek('a')).remaining).toBe(10);
    }));

  test('forgets a remembered denial when units are refunded in the background', () =>
    withLimiter(concurrency({ limit: 4, lease: '60s' }), { denyCache: true }, async (limiter, witness) => {
      await stalled(() => outcomes(4, () => limiter.take('a')));
      await until(async () => (await witness.peek('a')).remaining === 4);
      await until(async () => (await outcome(() => limiter.take('a'))).value?.allowed === true, 1000);
    }));

  test.each(['throw', 'limiter'] as const)(
    'refunds what was charged to a window after the deadline, with onFailure %s',
    (kind) => {
      const policy = fixedWindow({ limit: 100, per: '1d' });
      return withLimiter(
        policy,
        { onFailure: kind === 'limiter' ? createLimiter(policy) : kind },
        async (limiter, witness) => {
          await stalled(() => outcomes(4, () => limiter.take('a')));
          await until(async () => (await witness.peek('a')).remaining === 100);
          await sleep(200);
          await limiter.take('a');
          expect((await witness.peek('a')).remaining).toBe(99);
        },
      );
    },
  );

  test("keeps late charges for callers admitted by 'allow' and for mode 'always'", () =>
    withLimiter(fixedWindow({ limit: 100, per: '1d' }), { onFailure: 'allow' }, async (allowing, witness) => {
      await stalled(() => outcomes(4, () => allowing.take('a')));
      await sleep(300);
      expect((await witness.peek('a')).remaining).toBe(96);
      await withLimiter(fixedWindow({ limit: 100, per: '1d' }), {}, async (throwing, other) => {
        await stalled(() => outcomes(4, () => throwing.take('b', { mode: 'always' })));
        await sleep(300);
        expect((await other.peek('b')).remaining).toBe(96);
      });
    }));
});
