import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createGuard, limitedFetch, type RequestLike } from '../../../src/http/index.ts';
import { concurrency, createLimiter, type Decision, fixedWindow, type Limiter } from '../../../src/index.ts';
import { redis, type RedisOptions } from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { type Middleman, proxyTo } from './proxy.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { breakerOpen, outcome, outcomes, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 100;

type Async = Limiter<Promise<Decision>>;

describe('a charge', () => {
  let server: Server;
  let proxy: Middleman;
  beforeAll(async () => {
    server = await redisServer();
    proxy = await proxyTo(server.port);
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  /** Blocks all traffic to and from the server while `during` runs. */
  async function cutOff<T>(during: () => Promise<T>): Promise<T> {
    proxy.paused = true;
    try {
      return await during();
    } finally {
      proxy.paused = false;
    }
  }

  async function withStore<T>(
    options: RedisOptions,
    run: (store: ReturnType<typeof redis>, direct: ReturnType<typeof redis>) => Promise<T>,
  ): Promise<T> {
    const [client, control] = [ioredis(proxy.port), ioredis(server.port)];
    const store = redis(client, { onFailure: 'throw', deadline: DEADLINE, ...options });
    try {
      return await run(store, redis(control, { onFailure: 'throw', deadline: '10s' }));
    } finally {
      await store.close();
      client.disconnect();
      control.disconnect();
    }
  }

  const DAY = fixedWindow({ limit: 10_000, per: '1d' });
  const isBack = (limiter: Async) => until(async () => (await limiter.peek('back')).source === 'store');

  const view = { addressed: (request: RequestLike) => request, identity: (request: RequestLike) => request };
  const out = { status: 200, aborted: false };

  /** Each way in which Sluice itself charges 200 units and gives them back. */
  const WAYS: Readonly<Record<string, (limiter: Async, wait: () => Promise<void>) => Promise<unknown>>> = {
    'the cancellation of a reservation': async (limiter, wait) => {
      const turn = await limiter.reserve('a', 200);
      await wait();
      await turn.cancel();
    },
    'a refund with the decision': async (limiter, wait) => {
      const decision = await limiter.take('a', 200);
      await wait();
      await limiter.refund('a', { cost: 200, of: decision });
    },
    'the settle function of a guard': async (limiter, wait) => {
      const guard = createGuard({ limiter, key: () => 'a', cost: 200, settle: () => 0 }, view);
      const { settle } = await guard({ headers: {} });
      await wait();
      await settle?.(out);
    },
    'a later guard that denies': async (limiter, wait) => {
      const request = { headers: {} };
      await createGuard({ limiter, key: () => 'a', cost: 200 }, view)(request);
      await wait();
      const full = createLimiter('1/h');
      full.take('a');
      const { refusal } = await createGuard({ limiter: full, key: () => 'a' }, view)(request);
      expect(refusal?.status).toBe(429);
    },
    'an aborted acquire': async (limiter, wait) => {
      await outcome(() => limiter.acquire('a', { cost: 200, signal: AbortSignal.timeout(DEADLINE / 2) }));
      // Waits until the fallback has answered the caller that gave up.
      await sleep(2 * DEADLINE);
      await wait();
    },
    'a denied takeMany': async (limiter, wait) => {
      const full = createLimiter('1/h');
      const taken = limiter.takeMany([
        { key: 'a', cost: 200 },
        { limiter: full as never, key: 'a' },
      ]);
      // This take runs between the peeks and the takes of takeMany.
      full.take('a');
      await taken;
      await wait();
    },
  };

  describe.each(['allow', 'limiter'] as const)('made by the fallback (%s)', (kind) => {
    const made = () => (kind === 'allow' ? 'allow' : createLimiter(DAY));

    test.each(Object.entries(WAYS))('is not refunded to Redis by %s', async (_, way) =>
      withStore({ onFailure: made() }, async (store, direct) => {
        const name = `used up ${Math.random()}`;
        const limiter = createLimiter(DAY, { store, name });
        const witness = createLimiter(DAY, { store: direct, name });
        await witness.take('a', 10_000);
        await isBack(limiter);
        await cutOff(() =>
          way(limiter, async () => {
            proxy.paused = false;
            await isBack(limiter);
          }),
        );
        await isBack(limiter);
        await sleep(100);
        expect((await witness.peek('a')).remaining).toBe(0);
      }),
    );

    /** Each way to take a place, make a call, and release the place. */
    const HOLDERS: Readonly<Record<string, (limiter: Async, call: () => Promise<void>) => Promise<unknown>>> =
      {
        run: (limiter, call) => limiter.run('a', call),
        async 'a guard'(limiter, call) {
          const { settle } = await createGuard({ limiter, key: () => 'a' }, view)({ headers: {} });
          await call();
          await settle?.(out);
        },
        async 'a guard whose settle charges more'(limiter, call) {
          const options = { limiter, key: () => 'a', settle: () => 2 };
          const { settle } = await createGuard(options, view)({ headers: {} });
          await call();
          await settle?.(out);
        },
        limitedFetch: (limiter, call) =>
          limitedFetch(
            async (url: string) => {
              await call();
              return new Response(url);
            },
            { limiter, key: () => 'a' },
          )('http://a'),
        async 'a release without the decision'(limiter, call) {
          await limiter.take('a');
          await call();
          await limiter.release('a');
        },
      };

    test.each(Object.entries(HOLDERS))('is not released in Redis by %s', async (_, hold) => {
      const slots = concurrency({ limit: 5, lease: '60s' });
      const onFailure = kind === 'allow' ? 'allow' : createLimiter(slots);
      await withStore({ onFailure }, async (store, direct) => {
        const name = `slots ${Math.random()}`;
        const limiter = createLimiter(slots, { store, name });
        const witness = createLimiter(slots, { store: direct, name });
        await isBack(limiter);
        // Other callers hold all five places.
        await outcomes(5, () => witness.take('a'));
        let end = (): void => {};
        const ended = new Promise<void>((resolve) => (end = resolve));
        const calls = await cutOff(async () => {
          let running = 0;
          const started = outcomes(5, () =>
            hold(limiter, () => {
              running++;
              return ended;
            }),
          );
          await until(() => running === 5);
          return { started };
        });
        await isBack(limiter);
        end();
        for (const { error } of await calls.started) expect(error).toBeUndefined();
        await sleep(100);
        expect((await witness.peek('a')).remaining).toBe(0);
        if (typeof onFailure !== 'string') expect(onFailure.peek('a').remaining).toBe(5);
      });
    });
  });

  describe('made by Redis', () => {
    /**
     * Opens the breaker of one limiter while releases are pending, lets other callers take the places, and
     * then lets the limiter reach Redis.
     */
    async function placesLeft(
      lease: number,
      meanwhile: (limiter: Async, witness: Async) => Promise<unknown>,
    ) {
      const slots = concurrency({ limit: 5, lease });
      return withStore({}, async (store, direct) => {
        const name = `places ${Math.random()}`;
        const limiter = createLimiter(slots, { store, name });
        const witness = createLimiter(slots, { store: direct, name });
        await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
        await outcomes(5, () => limiter.take('a'));
        await cutOff(async () => {
          await breakerOpen(() => limiter.peek('a'));
          for (const { error } of await outcomes(5, () => limiter.release('a')))
            expect(error).toMatchObject({ fault: 'circuit-open' });
          await meanwhile(limiter, witness);
          const taken = await outcomes(5, () => witness.take('a'));
          expect(taken.filter(({ value }) => value?.allowed)).toHaveLength(5);
        });
        await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
        await sleep(200);
        return (await witness.peek('a')).remaining;
      });
    }

    test('is not released after its lease has ended', async () => {
      expect(
        await placesLeft(800, (_, witness) => until(async () => (await witness.peek('a')).allowed)),
      ).toBe(0);
    });

    test('is not released after the key was reset', async () => {
      const reset = async (limiter: Async, witness: Async) => {
        await outcome(() => limiter.reset('a'));
        await witness.reset('a');
      };
      expect(await placesLeft(60_000, reset)).toBe(0);
    });
  });

  test('made by Redis is not refunded to the fallback while Redis is unreachable', () => {
    const local = createLimiter(concurrency({ limit: 5, lease: '60s' }));
    return withStore({ onFailure: local }, async (store) => {
      const limiter = createLimiter(concurrency({ limit: 5, lease: '60s' }), { store, name: 'both' });
      await isBack(limiter);
      const decision = await limiter.take('a');
      await cutOff(async () => {
        local.take('a', 5);
        await limiter.release('a', { of: decision });
      });
      expect(local.peek('a').remaining).toBe(0);
    });
  });

  test('made by the fallback of a fallback is refunded to the limiter that made the charge', () =>
    withStore({}, async (_, direct) => {
      let isAway = false;
      const client = ioredis(server.port);
      const send = ([name, ...args]: readonly string[]): Promise<unknown> =>
        isAway ? Promise.reject(new Error('connect ECONNREFUSED')) : client.call(name, ...args);
      const last = createLimiter('10/h');
      const second = createLimiter('10/h', { store: redis({ send }, { onFailure: last }), name: 'second' });
      const nowhere = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };
      const limiter = createLimiter('10/h', { store: redis(nowhere, { onFailure: second }), name: 'first' });
      await second.take('a', 10);
      isAway = true;
      const turn = await limiter.reserve('a', 4);
      expect(last.peek('a').remaining).toBe(6);
      isAway = false;
      await turn.cancel();
      client.disconnect();
      expect(last.peek('a').remaining).toBe(10);
      const witness = createLimiter('10/h', { store: direct, name: 'second' });
      expect((await witness.peek('a')).remaining).toBe(0);
    }));
});
