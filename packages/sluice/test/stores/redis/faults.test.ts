import { execFileSync } from 'node:child_process';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  gcra,
  type Limiter,
  type Policies,
  slidingLog,
  StoreUnavailable,
} from '../../../src/index.ts';
import {
  type BreakerEvent,
  type OnFailure,
  redis,
  type RedisOptions,
} from '../../../src/stores/redis/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { type Middleman, proxyTo } from './proxy.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import {
  bytesInUse,
  inFlight,
  type Outcome,
  outcome,
  rejections,
  unpunctuality,
  until,
} from 'sluice-test-support/redis/watch.ts';

/** Deadline of all checks here, and how much later they may end if timers of this machine fire on time. */
const DEADLINE = 50;
const SLACK = 10;

const MANY = gcra({ limit: 1e9, per: '1d' });

/** Each value of onFailure, and a predicate that recognizes its fallback. */
const DECLARED: readonly (readonly [string, () => OnFailure, (outcome: Outcome<Decision>) => boolean])[] = [
  ['throw', () => 'throw', ({ error }) => error instanceof StoreUnavailable],
  ['allow', () => 'allow', ({ value }) => value?.source === 'fallback' && value.allowed],
  [
    'deny',
    () => 'deny',
    ({ value }) => value?.source === 'fallback' && !value.allowed && value.retryAfter > 0,
  ],
  [
    'local',
    () => 'local',
    ({ value }) => value?.source === 'fallback' && value.allowed && value.limit === 1e9,
  ],
  [
    'a local limiter',
    () => createLimiter(gcra({ limit: 7, per: '1d' })),
    ({ value }) => value?.source === 'fallback' && value.limit === 7,
  ],
];

describe.each([
  {
    fault: 'killed',
    stop: (server: Server) => server.stop('SIGKILL'),
    start: (server: Server) => redisServer({ port: server.port }),
  },
  {
    fault: 'stopped',
    stop: (server: Server) => server.process.kill('SIGSTOP'),
    start: (server: Server) => {
      server.process.kill('SIGCONT');
      return server;
    },
  },
])('a server that is $fault while checks run', ({ stop, start }) => {
  test.each(DECLARED)(
    'does not delay any check beyond its deadline, with onFailure %s',
    async (_, onFailure, isDeclared) => {
      const unhandled = rejections();
      let server = await redisServer();
      const client = ioredis(server.port);
      const events: { readonly event: BreakerEvent; readonly at: number }[] = [];
      const store = redis(client, {
        deadline: DEADLINE,
        onFailure: onFailure(),
        onEvent: (event) => events.push({ event, at: performance.now() }),
      });
      const limiter = createLimiter(MANY, { store, name: 'api' });
      const check = (key: string): Promise<Outcome<Decision>> => outcome(() => limiter.take(key));
      const isOpen = (): boolean => events.at(-1)?.event.type === 'open';
      try {
        await inFlight(64, 1000, () => check('warm'));
        const before = bytesInUse();

        // 12,500 checks in each of eight runs: 100,000 in total.
        const late = unpunctuality();
        let [slowest, answered, declared, other] = [0, 0, 0, 0];
        let [stopped, firstFailure] = [Infinity, Infinity];
        await Promise.all(
          Array.from({ length: 128 }, async () => {
            while (answered < 4000 || declared < 8500) {
              // On a busy machine the breaker may already be open. It must be closed now so that the fault
              // can open it.
              if (answered >= 4000 && stopped === Infinity && !isOpen()) {
                stopped = performance.now();
                void stop(server);
              }
              const result = await check(`key ${answered % 100}`);
              slowest = Math.max(slowest, result.took);
              if (result.value?.source === 'store') {
                answered++;
                continue;
              }
              if (performance.now() > stopped) {
                firstFailure = Math.min(firstFailure, performance.now());
                declared++;
              }
              if (!isDeclared(result)) other++;
              await immediate();
            }
          }),
        );
        const lateness = late.stop();
        expect(other).toBe(0);
        // After a stall of this process, checks are allowed as much extra time as the stall took.
        expect(slowest).toBeLessThanOrEqual(DEADLINE + SLACK + 2 * lateness);
        expect(late.busiest()).toBeLessThan(1000);

        expect(isOpen()).toBe(true);
        const opened = events.at(-1)?.at ?? Infinity;
        expect(opened).toBeGreaterThan(stopped);
        expect(opened - firstFailure).toBeLessThanOrEqual(200 + lateness);

        const spent: number[] = [];
        for (let i = 0; i < 500; i++) {
          const result = await check('open');
          expect(isDeclared(result)).toBe(true);
          spent.push(result.took);
          await immediate();
        }
        // The slowest checks are those that the machine interrupted.
        const usual = spent.sort((a, b) => a - b).slice(0, 450);
        expect(usual.reduce((sum, took) => sum + took, 0) / usual.length).toBeLessThan(1);
        expect(bytesInUse() - before).toBeLessThan(20e6);

        server = await start(server);
        const back = await until(async () => (await check('back')).value?.source === 'store');
        expect(back).toBeLessThanOrEqual(1000);
        expect(isOpen()).toBe(false);
      } finally {
        client.disconnect();
        await server.stop();
        await unhandled.stop();
      }
      expect(unhandled.seen).toEqual([]);
    },
    30_000,
  );
});

describe('over a bad network, the store', () => {
  let server: Server;
  let proxy: Middleman;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  /** A limiter that reaches the server through a proxy. */
  async function through<T>(
    options: RedisOptions,
    run: (limiter: Limiter<Promise<Decision>>, events: BreakerEvent[]) => Promise<T>,
    policies: Policies = MANY,
  ): Promise<T> {
    proxy = await proxyTo(server.port);
    const client = ioredis(proxy.port);
    const events: BreakerEvent[] = [];
    const unhandled = rejections();
    try {
      const store = redis(client, {
        onFailure: 'throw',
        deadline: DEADLINE,
        onEvent: (event) => events.push(event),
        ...options,
      });
      const limiter = createLimiter(policies, { store, name: crypto.randomUUID() });
      await until(async () => (await outcome(() => limiter.take('first'))).value?.source === 'store');
      events.length = 0;
      return await run(limiter, events);
    } finally {
      client.disconnect();
      await proxy.stop();
      await unhandled.stop();
      expect(unhandled.seen).toEqual([]);
    }
  }

  async function p99(limiter: Limiter<Promise<Decision>>, checks: number): Promise<[number, number]> {
    const late = unpunctuality();
    const times: number[] = [];
    await inFlight(64, checks, async (i) => {
      times.push((await outcome(() => limiter.take(`key ${i % 20}`))).took);
      await sleep(1);
    });
    times.sort((a, b) => a - b);
    return [times[Math.floor(0.99 * times.length)], late.stop()];
  }

  test('answers 99 % of checks within the deadline, with 5 s of latency and 1 % lost replies', () =>
    through({ onFailure: 'allow' }, async (limiter) => {
      proxy.latency = 5000;
      proxy.loss = 0.01;
      const [slow, lateness] = await p99(limiter, 5000);
      expect(slow).toBeLessThanOrEqual(DEADLINE + SLACK + 2 * lateness);
    }));

  test('answers 99 % of checks within the deadline, with 10 ms of latency and 1 % lost replies, and recovers afterwards', () =>
    through({ onFailure: 'allow' }, async (limiter) => {
      proxy.latency = 10;
      proxy.loss = 0.01;
      const [slow, lateness] = await p99(limiter, 10_000);
      expect(slow).toBeLessThanOrEqual(DEADLINE + SLACK + 2 * lateness);
      proxy.loss = 0;
      await until(async () => (await limiter.take('after')).source === 'store', 1000);
    }));

  test('sends only ten probes a second while everything is dropped', () =>
    through({ onFailure: 'deny' }, async (limiter, events) => {
      proxy.paused = true;
      for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 4 }, () => limiter.take('a')));
      expect(events).toMatchObject([{ type: 'open', fault: 'deadline' }]);
      // Waits until all packets that were sent before have arrived, which takes longer on a busy machine.
      let sent: number;
      do {
        sent = proxy.sent;
        await sleep(20);
      } while (proxy.sent > sent);
      const start = performance.now();
      let checks = 0;
      while (performance.now() - start < 500 || checks <= 100) {
        expect((await limiter.take('a')).source).toBe('fallback');
        checks++;
        await immediate();
      }
      expect(proxy.sent - sent).toBeLessThanOrEqual((performance.now() - start) / 100 + 1);
      proxy.paused = false;
      const took = await until(async () => (await limiter.take('a')).source === 'store', 1000);
      expect(took).toBeLessThanOrEqual(1000);
      expect(events).toMatchObject([{ type: 'open' }, { type: 'close' }]);
    }));

  test('keeps at most maxInFlight checks pending, none of them for longer than the deadline', () =>
    through({ maxInFlight: 100, onFailure: 'throw' }, async (limiter) => {
      proxy.paused = true;
      const late = unpunctuality();
      const results = await Promise.all(Array.from({ length: 1000 }, () => outcome(() => limiter.take('a'))));
      const lateness = late.stop();
      const faults = results.map(({ error }) => (error as StoreUnavailable).fault);
      expect(faults.filter((fault) => fault === 'deadline')).toHaveLength(100);
      expect(faults.filter((fault) => fault === 'overloaded')).toHaveLength(900);
      for (const { took } of results) expect(took).toBeLessThanOrEqual(DEADLINE + SLACK + 2 * lateness);
      proxy.paused = false;
      await until(async () => (await outcome(() => limiter.take('a'))).value?.source === 'store', 1000);
      await until(async () => {
        const well = await Promise.all(Array.from({ length: 100 }, () => outcome(() => limiter.take('a'))));
        return well.every(({ value }) => value?.source === 'store');
      }, 5000);
    }));

  test('fails only the checks in flight when the connection is repeatedly cut', () =>
    through({ onFailure: 'allow' }, async (limiter) => {
      let [well, ill] = [0, 0];
      const cutting = setInterval(() => proxy.cut(), 100);
      const start = performance.now();
      await inFlight(16, Infinity, async () => {
        const { source } = await limiter.take('a');
        if (source === 'store') well++;
        else ill++;
        await sleep(1);
        const spent = performance.now() - start;
        if ((spent > 1500 && well > 0 && ill > 0) || spent > 15_000) throw new Error('over');
      }).catch(() => {});
      clearInterval(cutting);
      expect(well).toBeGreaterThan(0);
      expect(ill).toBeGreaterThan(0);
      await until(async () => (await limiter.take('a')).source === 'store', 1000);
    }));

  test.each([
    ['gcra', gcra({ limit: 100_000, per: '365d' })],
    ['slidingLog', slidingLog({ limit: 100_000, per: '365d' })],
  ])(
    'fails no check while the server keeps losing its scripts: %s',
    async (name, policy) => {
      const control = ioredis(server.port);
      try {
        await through(
          { deadline: '10s', onFailure: 'throw' },
          async (limiter) => {
            let running = true;
            let flushes = 0;
            const flushing = (async () => {
              while (running) {
                await control.script('FLUSH');
                flushes++;
                await sleep(2);
              }
            })();
            const key = `flushed ${name}`;
            await inFlight(64, 10_000, async () => {
              const { allowed, source } = await limiter.take(key);
              if (!allowed || source !== 'store') throw new Error('denied');
            });
            running = false;
            await flushing;
            expect(flushes).toBeGreaterThan(10);
            expect((await limiter.peek(key)).remaining).toBe(90_000);
          },
          policy,
        );
      } finally {
        control.disconnect();
      }
    },
    30_000,
  );
});

test('a process that blocks its event loop for longer than the deadline still uses answers that arrived in time', async () => {
  const server = await redisServer();
  const client = ioredis(server.port);
  const events: BreakerEvent[] = [];
  const store = redis(client, {
    deadline: DEADLINE,
    onFailure: 'throw',
    onEvent: (event) => events.push(event),
  });
  const limiter = createLimiter(MANY, { store, name: 'api' });
  await until(async () => (await outcome(() => limiter.peek('a'))).value !== undefined);
  events.length = 0;
  for (let round = 0; round < 5; round++) {
    const answers = Array.from({ length: 10 }, () => limiter.take('a'));
    // By now, the checks have been sent.
    await immediate();
    const end = performance.now() + 4 * DEADLINE;
    while (performance.now() < end);
    // On a busy machine the server may need longer. Once it has answered this PING, it has answered
    // everything before it.
    execFileSync('redis-cli', ['-p', String(server.port), 'PING']);
    expect((await Promise.all(answers)).every(({ allowed }) => allowed)).toBe(true);
  }
  expect(events).toEqual([]);
  client.disconnect();
  await server.stop();
});
