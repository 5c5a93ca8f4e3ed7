import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type Policies,
} from '../../src/index.ts';
import { redis, type RedisOptions } from '../../src/stores/redis/index.ts';
import { ioredis } from './clients.ts';
import { type Middleman, proxyTo } from './proxy.ts';
import { redisServer, type Server } from './server.ts';
import { outcome, rejections, until } from './watch.ts';

const DEADLINE = 100;
const SLOTS = concurrency({ limit: 20, lease: '60s' });

type Async = Limiter<Promise<Decision>>;

const all = <T>(count: number, call: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => outcome(() => call(i))));

describe('a Redis that stalls', () => {
  let server: Server;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  /** A limiter over a server that can be stalled, and one over a connection of its own that sees what the server has. */
  async function withLimiter<T>(
    policies: Policies,
    options: RedisOptions,
    run: (limiter: Async, witness: Async) => Promise<T>,
  ): Promise<T> {
    const clients = [ioredis(server.port), ioredis(server.port)];
    const unhandled = rejections();
    const store = redis(clients[0], { deadline: DEADLINE, ...options });
    const name = `late ${Math.random()}`;
    try {
      const limiter = createLimiter(policies, { store, name });
      await until(async () => (await outcome(() => limiter.peek('a'))).value?.source === 'store');
      return await run(limiter, createLimiter(policies, { store: redis(clients[1]), name }));
    } finally {
      await store.close();
      for (const client of clients) client.disconnect();
      await unhandled.stop();
      expect(unhandled.seen).toEqual([]);
    }
  }

  /** The server does not run during the call, nor for half a second in all. */
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
    'frees every slot that it took after the deadline, with onFailure %s',
    (kind) => {
      const onFailure = kind === 'limiter' ? createLimiter(SLOTS) : kind;
      return withLimiter(SLOTS, { onFailure }, async (limiter, witness) => {
        await stalled(() => all(8, () => limiter.take('a')));
        expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
      });
    },
  );

  test('frees the slots of callers who gave up waiting', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      await stalled(() => all(8, () => limiter.acquire('a', { signal: AbortSignal.timeout(50) })));
      expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
    }));

  test.each(['throw', 'allow'] as const)(
    'frees slots whose release failed during the stall, with onFailure %s',
    (onFailure) =>
      withLimiter(SLOTS, { onFailure }, async (limiter, witness) => {
        expect((await all(20, () => limiter.take('a'))).every(({ value }) => value?.source === 'store')).toBe(
          true,
        );
        expect((await witness.peek('a')).remaining).toBe(0);
        await stalled(async () => {
          // The first ones reach the deadline, which opens the breaker; the others are not sent.
          await all(8, () => limiter.release('a'));
          await all(12, () => limiter.release('a'));
        });
        expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
      }),
  );

  test('frees the slots of calls that end during the stall', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      let end = (): void => {};
      const ended = new Promise<void>((resolve) => (end = resolve));
      const runs = all(20, () => limiter.run('a', () => ended));
      await until(async () => (await witness.peek('a')).remaining === 0);
      await stalled(async () => {
        // The breaker is open: the releases are not sent.
        await all(5, () => limiter.peek('a'));
        end();
        await runs;
      });
      expect(await until(async () => (await witness.peek('a')).remaining === 20, 5000)).toBeLessThan(1000);
    }));

  test('frees one place, not two, for a caller who repeats a release that failed', () =>
    withLimiter(SLOTS, {}, async (limiter, witness) => {
      await limiter.take('a');
      await all(10, () => witness.take('a'));
      await stalled(async () => {
        await all(5, () => limiter.peek('a'));
        // The breaker is open: neither is sent.
        for (let i = 0; i < 2; i++)
          expect((await outcome(() => limiter.release('a'))).error).toMatchObject({ fault: 'circuit-open' });
      });
      await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
      await sleep(300);
      expect((await witness.peek('a')).remaining).toBe(10);
    }));

  test('ends a remembered denial when it gives back in the background', () =>
    withLimiter(concurrency({ limit: 4, lease: '60s' }), { denyCache: true }, async (limiter, witness) => {
      await stalled(() => all(4, () => limiter.take('a')));
      await until(async () => (await witness.peek('a')).remaining === 4);
      await until(async () => (await outcome(() => limiter.take('a'))).value?.allowed === true, 1000);
    }));

  test.each(['throw', 'limiter'] as const)('gives back what a window charged too late, with %s', (kind) => {
    const policy = fixedWindow({ limit: 100, per: '1d' });
    return withLimiter(
      policy,
      { onFailure: kind === 'limiter' ? createLimiter(policy) : kind },
      async (limiter, witness) => {
        await stalled(() => all(4, () => limiter.take('a')));
        await until(async () => (await witness.peek('a')).remaining === 100);
        await sleep(200);
        await limiter.take('a');
        expect((await witness.peek('a')).remaining).toBe(99);
      },
    );
  });

  test('keeps what was charged too late for callers who passed by allow, and for those of mode always', () =>
    withLimiter(fixedWindow({ limit: 100, per: '1d' }), { onFailure: 'allow' }, async (allowing, witness) => {
      await stalled(() => all(4, () => allowing.take('a')));
      await sleep(300);
      expect((await witness.peek('a')).remaining).toBe(96);
      await withLimiter(fixedWindow({ limit: 100, per: '1d' }), {}, async (throwing, other) => {
        await stalled(() => all(4, () => throwing.take('b', { mode: 'always' })));
        await sleep(300);
        expect((await other.peek('b')).remaining).toBe(96);
      });
    }));
});

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

  /** Nothing passes to the server or back while this runs. */
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
    const store = redis(client, { deadline: DEADLINE, ...options });
    try {
      return await run(store, redis(control));
    } finally {
      await store.close();
      client.disconnect();
      control.disconnect();
    }
  }

  const DAY = fixedWindow({ limit: 10_000, per: '1d' });
  const isBack = (limiter: Async) => until(async () => (await limiter.peek('back')).source === 'store');

  /** What lets 200 units pass and gives them back, by each way in which Sluice does that itself. */
  const WAYS: Readonly<Record<string, (limiter: Async, wait: () => Promise<void>) => Promise<unknown>>> = {
    'reserve and cancel': async (limiter, wait) => {
      const turn = await limiter.reserve('a', 200);
      await wait();
      await turn.cancel();
    },
    'refund with the decision': async (limiter, wait) => {
      const decision = await limiter.take('a', 200);
      await wait();
      await limiter.refund('a', { cost: 200, of: decision });
    },
    'acquire that is aborted': async (limiter, wait) => {
      await outcome(() => limiter.acquire('a', { cost: 200, signal: AbortSignal.timeout(DEADLINE / 2) }));
      // Until the fallback has answered the caller who is gone.
      await sleep(2 * DEADLINE);
      await wait();
    },
    'takeMany that is denied': async (limiter, wait) => {
      const full = createLimiter('1/h');
      const taken = limiter.takeMany([
        { key: 'a', cost: 200 },
        { limiter: full as never, key: 'a' },
      ]);
      // Between its questions and its takes.
      full.take('a');
      await taken;
      await wait();
    },
  };

  describe.each(['allow', 'limiter'] as const)('of the fallback, %s,', (kind) => {
    const made = () => (kind === 'allow' ? 'allow' : createLimiter(DAY));

    test.each(Object.entries(WAYS))('is not given back to Redis by %s', async (_, way) =>
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

    test('is not released in Redis by run, so that never more than 5 hold there', async () => {
      const slots = concurrency({ limit: 5, lease: '60s' });
      const onFailure = kind === 'allow' ? 'allow' : createLimiter(slots);
      await withStore({ onFailure }, async (store, direct) => {
        const name = `slots ${Math.random()}`;
        const limiter = createLimiter(slots, { store, name });
        const witness = createLimiter(slots, { store: direct, name });
        await isBack(limiter);
        // Others hold all five places.
        await Promise.all(Array.from({ length: 5 }, () => witness.take('a')));
        let end = (): void => {};
        const ended = new Promise<void>((resolve) => (end = resolve));
        const runs = await cutOff(async () => {
          let running = 0;
          const started = Array.from({ length: 5 }, () =>
            limiter.run('a', () => {
              running++;
              return ended;
            }),
          );
          await until(() => running === 5);
          return started;
        });
        await isBack(limiter);
        end();
        await Promise.all(runs);
        await sleep(100);
        expect((await witness.peek('a')).remaining).toBe(0);
        if (typeof onFailure !== 'string') expect(onFailure.peek('a').remaining).toBe(5);
      });
    });
  });

  describe('of Redis', () => {
    /** Opens the breaker of one limiter with releases owed, lets others take the places, and then lets it reach Redis. */
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
        await all(5, () => limiter.take('a'));
        await cutOff(async () => {
          await all(5, () => limiter.peek('a'));
          for (const { error } of await all(5, () => limiter.release('a')))
            expect(error).toMatchObject({ fault: 'circuit-open' });
          await meanwhile(limiter, witness);
          const taken = await all(5, () => witness.take('a'));
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

  test('that Redis made is not given back to the fallback while Redis is away', () => {
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

  test('of a fallback that has a fallback goes back to the one that made it', () =>
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
