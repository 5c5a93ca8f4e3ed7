import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, gcra, slidingLog, StoreUnavailable } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { proxyTo } from './proxy.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, rejections, until } from 'sluice-test-support/redis/watch.ts';

const DEADLINE = 50;
const MANY = gcra({ limit: 1e9, per: '1d' });

describe('callers, clients and listeners that misbehave', () => {
  let server: Server;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  /** A client whose calls can each be made to fail. */
  function fickle(fate: (call: readonly string[], index: number) => 'pass' | 'fail' | 'hang') {
    const client = ioredis(server.port);
    let calls = 0;
    return {
      send([name, ...args]: readonly string[]): Promise<unknown> {
        const what = fate([name, ...args], calls++);
        if (what === 'hang') return new Promise(() => {});
        return what === 'fail' ? Promise.reject(new Error('ECONNRESET')) : client.call(name, ...args);
      },
      close: () => client.disconnect(),
    };
  }

  test('a call that never returns does not delay the calls after it', async () => {
    const client = fickle((_, index) => (index >= 1 && index <= 4 ? 'hang' : 'pass'));
    try {
      const limiter = createLimiter(MANY, {
        store: redis(client, { deadline: DEADLINE, onFailure: 'deny' }),
        name: 'api',
      });
      await limiter.take('a');
      const ill = await Promise.all([limiter.take('a'), limiter.take('b')]);
      expect(ill.every(({ source }) => source === 'fallback')).toBe(true);
      await until(async () => (await limiter.take('a')).source === 'store');
    } finally {
      client.close();
    }
  });

  test('ioredis without autoResendUnfulfilledCommands, which drops pending calls, recovers after a lost connection', async () => {
    const proxy = await proxyTo(server.port);
    const client = ioredis(proxy.port, { autoResendUnfulfilledCommands: false });
    try {
      const limiter = createLimiter(MANY, {
        store: redis(client, { deadline: DEADLINE, onFailure: 'deny' }),
        name: 'api',
      });
      await until(async () => (await limiter.take('a')).source === 'store');
      proxy.mute = true;
      await Promise.all([limiter.take('a'), limiter.take('b'), limiter.take('c')]);
      proxy.mute = false;
      proxy.cut();
      await until(async () => (await limiter.take('a')).source === 'store');
    } finally {
      client.disconnect();
      await proxy.stop();
    }
  });

  test('no verb leaves an unhandled rejection', async () => {
    const unhandled = rejections();
    const client = fickle(() => 'fail');
    try {
      const limiter = createLimiter(gcra({ limit: 5, per: '1h' }), {
        store: redis(client, { onFailure: 'throw', deadline: DEADLINE }),
        tiers: { pro: gcra({ limit: 50, per: '1h' }), team: slidingLog({ limit: 50, per: '1h' }) },
        name: 'api',
      });
      const verbs: (() => unknown)[] = [
        () => limiter.take('a'),
        () => limiter.peek('a'),
        () => limiter.refund('a'),
        () => limiter.release('a'),
        () => limiter.reserve('a'),
        () => limiter.acquire('a', { timeout: 10 }),
        () => limiter.run('a', () => {}, { timeout: 10 }),
        () => limiter.block('a', 10),
        () => limiter.reset('a'),
        () => limiter.takeMany([{ key: 'a' }, { key: 'b' }]),
        // The second item is rejected immediately, while the first call is in flight. Because its limiter is a copy, takeMany
        // calls it separately.
        () => limiter.takeMany([{ key: 'a' }, { limiter: { ...limiter }, key: undefined as never }]),
        () => limiter.takeMany([{ key: 'a' }, { limiter: { ...limiter }, key: 'a', tier: 'none' }]),
      ];
      for (const verb of verbs) {
        const { error } = await outcome(verb);
        expect(error).toBeInstanceOf(StoreUnavailable);
      }
      const aborted = await outcome(() => limiter.acquire('a', { signal: AbortSignal.timeout(1) }));
      expect(aborted.error).toMatchObject({ name: 'TimeoutError' });
    } finally {
      client.close();
      await unhandled.stop();
    }
    expect(unhandled.seen).toEqual([]);
  });

  test('a failed refund by takeMany or acquire causes no unhandled rejection', async () => {
    const unhandled = rejections();
    const client = fickle((call) => (call.at(-1)?.startsWith('f') ? 'fail' : 'pass'));
    try {
      const store = redis(client, { onFailure: 'throw', deadline: '5s' });
      const wide = createLimiter(gcra({ limit: 100, per: '1h' }), { store, name: 'wide' });
      const other = redis(client, { onFailure: 'throw', deadline: '5s' });
      const narrow = createLimiter(gcra({ limit: 1, per: '1h' }), { store: other, name: 'narrow' });
      // The limiters are on different stores. All calls peek before any of them takes, so all but one have to refund.
      const many = await Promise.all(
        Array.from({ length: 10 }, () => wide.takeMany([{ key: 'a' }, { limiter: narrow, key: 'a' }])),
      );
      expect(many.filter(({ allowed }) => allowed)).toHaveLength(1);

      const gone = new AbortController();
      const turn = outcome(() => wide.acquire('b', { signal: gone.signal }));
      gone.abort(new Error('gone'));
      expect((await turn).error).toEqual(new Error('gone'));
      await sleep(DEADLINE);
    } finally {
      client.close();
      await unhandled.stop();
    }
    expect(unhandled.seen).toEqual([]);
  });

  test('takeMany refunds what it took when one of its calls fails', async () => {
    const client = fickle((call) => (call.at(-1) === '1' && call.join().includes('frail') ? 'fail' : 'pass'));
    try {
      const store = redis(client, { onFailure: 'throw', deadline: '5s' });
      const sound = createLimiter(gcra({ limit: 10, per: '1h' }), { store, name: 'sound' });
      const other = redis(client, { onFailure: 'throw', deadline: '5s' });
      const frail = createLimiter(gcra({ limit: 10, per: '1h' }), { store: other, name: 'frail' });
      const { error } = await outcome(() => sound.takeMany([{ key: 'a' }, { limiter: frail, key: 'a' }]));
      expect(error).toBeInstanceOf(StoreUnavailable);
      await until(async () => (await sound.peek('a')).remaining === 10);
    } finally {
      client.close();
    }
  });

  test('a listener that throws does not affect any check', async () => {
    const unhandled = rejections();
    const uncaught: unknown[] = [];
    const listener = (error: unknown): void => {
      uncaught.push(error);
    };
    process.on('uncaughtException', listener);
    let well = true;
    const client = fickle(() => (well ? 'pass' : 'fail'));
    try {
      const store = redis(client, {
        deadline: DEADLINE,
        onFailure: 'allow',
        onEvent() {
          throw new Error('a mistake in the listener');
        },
      });
      const limiter = createLimiter(MANY, { store, name: 'api' });
      well = false;
      const checks = Promise.all(Array.from({ length: 10 }, (_, i) => limiter.take(`key ${i}`)));
      const settled = await Promise.race([checks.then(() => 'settled'), sleep(1000, 'hung')]);
      expect(settled).toBe('settled');
      well = true;
      await until(async () => (await limiter.take('a')).source === 'store');
    } finally {
      client.close();
      await unhandled.stop();
      process.off('uncaughtException', listener);
    }
    expect([...unhandled.seen, ...uncaught]).toEqual([]);
  });
});
