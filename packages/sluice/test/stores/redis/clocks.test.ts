import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createLimiter,
  fixedWindow,
  gcra,
  leakyBucket,
  pacer,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { type Hammer, hammer } from './hammer.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { inFlight } from 'sluice-test-support/redis/watch.ts';

const HOUR = 3_600_000;

let server: Server;
let client: ReturnType<typeof ioredis>;
beforeAll(async () => {
  server = await redisServer();
  client = ioredis(server.port);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

describe('processes whose clocks are an hour apart', () => {
  let hammers: Hammer[] = [];
  beforeAll(async () => {
    hammers = await Promise.all([-HOUR, 0, HOUR].map((skew) => hammer(server.port, 'ioredis', skew)));
  }, 60_000);
  afterAll(() => Promise.all(hammers.map((one) => one.stop())));

  test.each(['gcra', 'slidingLog', 'fixedWindow', 'slidingWindow', 'two policies'] as const)(
    'get the same decisions: %s',
    async (policies) => {
      const blow = { policies, limit: 100, name: policies, key: 'a', lanes: 64, checks: 60 };
      let admitted = 0;
      for (const one of hammers) admitted += (await one.strike(blow)).admitted;
      expect(admitted).toBe(100);
      const waits: number[] = [];
      const began = performance.now();
      for (const one of hammers) {
        const damage = await one.strike(blow);
        expect(damage.admitted).toBe(0);
        waits.push(damage.retryAfter);
      }
      expect(Math.max(...waits) - Math.min(...waits)).toBeLessThan(1000 + performance.now() - began);
    },
  );
});

describe('a clock that jumps', () => {
  const JUMP = 10_000;
  // The start is fixed, so that windows are the same in every run. It is in the middle of a window of a minute.
  const START = 1_700_000_010_000;
  const KINDS: Readonly<Record<string, Policy>> = {
    gcra: gcra({ limit: 10, per: '1m' }),
    tokenBucket: tokenBucket({ capacity: 10, refill: 10, every: '1m', continuous: false }),
    leakyBucket: leakyBucket({ size: 10, dripRate: '6s' }),
    fixedWindow: fixedWindow({ limit: 10, per: '1m' }),
    'fixedWindow from the first hit': fixedWindow({ limit: 10, per: '1m', align: 'first' }),
    'fixedWindow of a day': fixedWindow({ limit: 10, align: 'day' }),
    slidingWindow: slidingWindow({ limit: 10, per: '1m' }),
    slidingLog: slidingLog({ limit: 10, per: '1m' }),
    'slidingLog in parts': slidingLog({ limit: 10, per: '1m', resolution: 6 }),
    pacer: pacer({ limit: 10, per: '1m' }),
  };

  test.each(Object.entries(KINDS))(
    'back creates no units, and extends denials by at most the size of the jump: %s',
    async (name, policy) => {
      const clock = manualClock(START);
      const limiter = createLimiter(policy, {
        store: redis(client, { onFailure: 'throw', clock, deadline: '5s' }),
        name: `back ${name}`,
      });
      let passed = 0;
      const takeAll = async (): Promise<number> => {
        for (let i = 0; i < 20; i++) if ((await limiter.take('a')).allowed) passed++;
        return (await limiter.peek('a')).retryAfter;
      };
      const wait = await takeAll();
      const limit = passed;
      expect(wait).toBeGreaterThan(0);

      clock.set(START - JUMP);
      const longer = await takeAll();
      expect(passed).toBe(limit);
      expect(longer).toBeLessThanOrEqual(wait + JUMP + 0.001);

      clock.set(START);
      expect(await takeAll()).toBeLessThanOrEqual(wait + 0.001);
      expect(passed).toBe(limit);

      clock.set(START + wait);
      expect((await limiter.take('a')).allowed).toBe(true);
    },
  );

  test.each(Object.entries(KINDS))(
    'forward and back again lets no more units pass than a clock that stayed ahead: %s',
    async (name, policy) => {
      const admitted = async (how: string, instants: readonly number[]): Promise<number> => {
        const clock = manualClock(START);
        const limiter = createLimiter(policy, {
          store: redis(client, { onFailure: 'throw', clock, deadline: '5s' }),
          name: `${how} ${name}`,
        });
        let passed = 0;
        for (const instant of instants) {
          clock.set(instant);
          for (let i = 0; i < 20; i++) if ((await limiter.take('a')).allowed) passed++;
        }
        return passed;
      };
      const stayed = await admitted('stayed', [START, START + JUMP]);
      const jumped = await admitted('jumped', [START, START + JUMP, START, START + JUMP / 2, START + JUMP]);
      expect(jumped).toBe(stayed);
    },
  );
});

describe('FLUSHALL', () => {
  test.each([
    ['gcra', gcra({ limit: 500, per: '365d' })],
    ['slidingLog', slidingLog({ limit: 500, per: '365d' })],
    ['fixedWindow', fixedWindow({ limit: 500, per: '365d', align: 'first' })],
  ])('during checks lets at most one extra burst pass: %s', async (name, policy) => {
    const control = ioredis(server.port);
    await control.ping();
    try {
      const store = redis(client, { onFailure: 'throw', deadline: '5s' });
      const limiter = createLimiter(policy, { store, name: `flushed ${name}` });
      let admitted = 0;
      let flushed: Promise<unknown> | undefined;
      await inFlight(64, 5000, async (i) => {
        if (i === 300) flushed = control.flushall();
        const { allowed, source } = await limiter.take('a');
        expect(source).toBe('store');
        if (allowed) admitted++;
      });
      await flushed;
      expect(admitted).toBeGreaterThan(500);
      expect(admitted).toBeLessThanOrEqual(1000);
    } finally {
      control.disconnect();
    }
  });
});

test('on a clock that starts at 0, all takes of the first day are counted', async () => {
  const store = redis(client, { onFailure: 'throw', clock: manualClock(0), deadline: '5s' });
  const limiter = createLimiter('10/d', { store, name: 'first day' });
  for (let left = 9; left >= 0; left--) expect((await limiter.take('a')).remaining).toBe(left);
  expect((await limiter.take('a')).allowed).toBe(false);
});
