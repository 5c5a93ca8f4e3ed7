/**
 * Behavior with default options: before Redis has answered for the first time, while it is unreachable, and
 * after it has returned.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, type Decision } from '../../../src/index.ts';
import {
  type BreakerEvent,
  redis,
  type RedisClient,
  type RedisOptions,
} from '../../../src/stores/redis/index.ts';
import { CLIENTS, ioredis, ONCE, RETRY } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome, outcomes, punctually, until } from 'sluice-test-support/redis/watch.ts';

const DAY = fixedWindow({ limit: 10_000, per: '1d' });

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serverFor(port?: number): Promise<Server> {
  const server = await redisServer(port === undefined ? {} : { port });
  ends.push(() => server.stop());
  return server;
}

function clientFor(port: number, options: object = ONCE): RedisClient {
  const client = ioredis(port, options);
  ends.push(() => client.disconnect());
  return client;
}

/** Runs checks until the breaker has opened. */
async function opened(events: readonly BreakerEvent[], check: () => Promise<unknown>): Promise<void> {
  await until(async () => {
    await outcome(check);
    return events.at(-1)?.type === 'open';
  });
}

const isStores = ({ value }: { readonly value?: Decision }): boolean => value?.source === 'store';

describe('an open breaker without traffic', () => {
  test('sends 100 concurrent checks to Redis as soon as Redis is back', async () => {
    const server = await serverFor();
    const events: BreakerEvent[] = [];
    const store = redis(clientFor(server.port), {
      onFailure: 'throw',
      onEvent: (event) => events.push(event),
    });
    const limiter = createLimiter(DAY, { store, name: 'api' });
    await limiter.take('a');
    await server.stop();
    await opened(events, () => limiter.take('a'));
    await serverFor(server.port);
    await sleep(1500);

    const checks = await outcomes(100, () => limiter.take('b'));
    expect(checks.filter(isStores)).toHaveLength(100);
    expect((await limiter.peek('b')).remaining).toBe(9900);
    expect(events.map(({ type }) => type)).toEqual(['open', 'close']);
  });

  test('answers concurrent checks by the deadline if Redis still hangs', () =>
    punctually(20, async () => {
      const server = await serverFor();
      const events: BreakerEvent[] = [];
      const store = redis(clientFor(server.port), {
        deadline: 100,
        onFailure: 'deny',
        onEvent: (event) => events.push(event),
      });
      const limiter = createLimiter(DAY, { store, name: 'api' });
      await limiter.take('a');
      server.process.kill('SIGSTOP');
      await opened(events, () => limiter.take('a'));
      await sleep(1500);
      const checks = await outcomes(50, () => limiter.take('a'));
      for (const { value, took } of checks) {
        expect(value?.source).toBe('fallback');
        expect(took).toBeLessThan(150);
      }
      const [next] = await outcomes(1, () => limiter.take('a'));
      expect(next.took).toBeLessThan(50);
    }));
});

describe('with default options, a limiter that cannot reach Redis', () => {
  async function down(options: RedisOptions = {}) {
    const server = await serverFor();
    const client = clientFor(server.port);
    const store = redis(client, { onEvent() {}, ...options });
    await createLimiter(DAY, { store, name: 'warm' }).take('a');
    await server.stop();
    return { store, server };
  }

  test('enforces each limit locally, so that a login limit of 5 admits 5 and an enterprise tier admits its 100', async () => {
    const { store } = await down();
    const logins = createLimiter('5/day', { store, name: 'login' });
    const api = createLimiter('10/day', { store, name: 'api', tiers: { enterprise: '100/day' } });
    const admitted = async (take: () => Promise<Decision>): Promise<number> => {
      const answers = await outcomes(150, take);
      expect(answers.every(({ value }) => value?.source === 'fallback')).toBe(true);
      return answers.filter(({ value }) => value?.allowed).length;
    };
    expect(await admitted(() => logins.take('alice'))).toBe(5);
    expect(await admitted(() => api.take('alice'))).toBe(10);
    expect(await admitted(() => api.take('acme', { tier: 'enterprise' }))).toBe(100);
  });

  test('enforces a fraction of each limit, but at least one unit, if it is one of several processes', async () => {
    const { store } = await down({ onFailure: { local: 1 / 4 } });
    const api = createLimiter({ minute: '100/day', burst: '10/day fixed-window' }, { store, name: 'api' });
    const first = await api.take('a');
    expect(first).toMatchObject({ allowed: true, limit: 2, remaining: 1 });
    expect(first.policies).toMatchObject([
      { limit: 25, remaining: 24 },
      { limit: 2, remaining: 1 },
    ]);
    expect((await api.take('a', { cost: 5, mode: 'partial' })).taken).toBe(1);
    expect(await api.take('a')).toMatchObject({ allowed: false, taken: 0 });
    await api.refund('a', { of: first });
    expect((await api.take('a')).allowed).toBe(true);

    const single = createLimiter('3/day', { store, name: 'single' });
    expect(await single.take('a', 2)).toMatchObject({ allowed: false, retryAfter: 100 });
    expect((await single.take('a')).allowed).toBe(true);
    expect((await single.take('a')).allowed).toBe(false);
  });

  test('refunds its own charges locally, not in Redis', async () => {
    const { store, server } = await down();
    const limiter = createLimiter(fixedWindow({ limit: 10, per: '1d' }), { store, name: 'api' });
    const charged = await limiter.take('a', 8);
    expect(charged).toMatchObject({ source: 'fallback', remaining: 2 });
    await limiter.refund('a', { cost: 3, of: charged });
    expect((await limiter.peek('a')).remaining).toBe(5);
    const booked = await limiter.reserve('a', 5);
    expect(booked.delay).toBe(0);
    await booked.cancel();
    expect((await limiter.peek('a')).remaining).toBe(5);

    await serverFor(server.port);
    await until(async () => (await limiter.peek('a')).source === 'store');
    await limiter.take('a', 10);
    await limiter.refund('a', { cost: 5, of: charged });
    expect(await limiter.peek('a')).toMatchObject({ source: 'store', remaining: 0 });
  });

  test('grants no second burst when Redis repeatedly returns and disappears', async () => {
    const { store, server } = await down();
    const limiter = createLimiter(fixedWindow({ limit: 10, per: '1d' }), { store, name: 'api' });
    expect((await limiter.take('a', 10)).source).toBe('fallback');
    const again = await serverFor(server.port);
    await until(async () => (await limiter.peek('a')).source === 'store');
    await again.stop();
    expect(await limiter.take('a')).toMatchObject({ allowed: false, source: 'fallback' });
  });

  test('honors manual blocks and resets made during the outage', async () => {
    const { store } = await down();
    const limiter = createLimiter('10/day', { store, name: 'api' });
    await limiter.block('a', '1h');
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block' });
    await limiter.reset('a');
    expect((await limiter.take('a')).allowed).toBe(true);
  });
});

test('acquire waits for Redis to come back instead of rejecting', async () => {
  const server = await serverFor();
  const store = redis(clientFor(server.port), { deadline: 100, onFailure: 'throw', onEvent() {} });
  const limiter = createLimiter('1000/s', { store, name: 'api' });
  await limiter.take('warm');
  server.process.kill('SIGSTOP');
  const waiting = outcomes(500, () => limiter.acquire('a', { timeout: '20s' }));
  const impatient = outcome(() => limiter.acquire('b', { timeout: 300 }));
  await sleep(1000);
  expect((await impatient).error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
  server.process.kill('SIGCONT');
  expect((await waiting).filter(({ value }) => value?.allowed && value.source === 'store')).toHaveLength(500);
}, 30_000);

describe('before the first answer', () => {
  const STARTING: Readonly<Record<string, (port: number) => RedisClient>> = {
    ioredis: (port) => clientFor(port),
    'ioredis without an offline queue': (port) => clientFor(port, { ...ONCE, enableOfflineQueue: false }),
    'node-redis': (port) => nodeRedis(port, {}),
    'node-redis without an offline queue': (port) => nodeRedis(port, { disableOfflineQueue: true }),
  };

  function nodeRedis(port: number, options: object): RedisClient {
    const client = createClient({ socket: { port, reconnectStrategy: RETRY }, ...options });
    client.on('error', () => {});
    client.connect().catch(() => {});
    ends.push(() => client.destroy());
    return client;
  }

  test.each(Object.entries(STARTING))(
    'no check fails while %s connects, and each check is charged once',
    (_, connect) =>
      punctually(50, async () => {
        const server = await serverFor();
        // Connections are accepted, but nothing is answered on them.
        server.process.kill('SIGSTOP');
        const events: BreakerEvent[] = [];
        const store = redis(connect(server.port), {
          deadline: 100,
          onFailure: 'throw',
          onEvent: (event) => events.push(event),
        });
        const limiter = createLimiter(DAY, { store, name: 'api' });
        const checks: Promise<{ readonly value?: Decision }>[] = [];
        const starting = sleep(300).then(() => server.process.kill('SIGCONT'));
        for (let i = 0; i < 60; i++) {
          checks.push(outcome(() => limiter.take('a')));
          await sleep(5);
        }
        await starting;
        expect((await Promise.all(checks)).filter(isStores)).toHaveLength(60);
        expect((await limiter.peek('a')).remaining).toBe(9940);
        expect(events).toEqual([]);
      }),
  );

  test('checks wait at most two seconds for a server that never answers', async () => {
    const server = await serverFor();
    server.process.kill('SIGSTOP');
    const store = redis(clientFor(server.port), { deadline: 50, onEvent() {} });
    const limiter = createLimiter(DAY, { store, name: 'api' });
    const checks = await outcomes(5, () => limiter.take('a'));
    expect(checks.every(({ value }) => value?.source === 'fallback')).toBe(true);
    for (const { took } of checks) expect(took).toBeGreaterThan(1900);
    const [next] = await outcomes(1, () => limiter.take('a'));
    expect(next.took).toBeLessThan(1000);
  });
});

test.each(['ioredis', 'node-redis'])(
  'no check fails when the event loop stalls just after the check was passed to %s',
  async (name) => {
    const server = await serverFor();
    const connected = await CLIENTS[name](server.port);
    ends.push(() => connected.close());
    const store = redis(connected.client, { deadline: 50, onFailure: 'throw', onEvent() {} });
    const limiter = createLimiter(DAY, { store, name: 'api' });
    await limiter.take('a');
    for (let round = 0; round < 3; round++) {
      const checks = outcomes(200, () => limiter.take('a'));
      await Promise.resolve();
      // Blocks this process without using the CPU, so that the server can run even on a busy machine.
      execFileSync('sleep', ['0.3']);
      expect((await checks).filter(isStores)).toHaveLength(200);
    }
  },
);

describe('a breaker that opens', () => {
  test('emits one warning if there is no listener', async () => {
    const server = await serverFor();
    const warnings: Error[] = [];
    const listener = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', listener);
    ends.push(() => process.off('warning', listener));
    const limiter = createLimiter('5/day', { store: redis(clientFor(server.port)), name: 'api' });
    await limiter.take('a');
    for (let round = 0; round < 2; round++) {
      await server.stop();
      for (let i = 0; i < 10; i++) await limiter.take('a');
      await serverFor(server.port);
      await until(async () => (await limiter.take('a')).source === 'store');
    }
    const own = warnings.filter(({ name }) => name === 'SluiceWarning');
    expect(own).toHaveLength(1);
    expect(own[0]).toMatchObject({
      code: 'SLUICE_STORE_UNAVAILABLE',
      message: expect.stringMatching(
        /^the store does not answer \(connection.*each limiter counts in this process alone/,
      ),
    });
  });
});
