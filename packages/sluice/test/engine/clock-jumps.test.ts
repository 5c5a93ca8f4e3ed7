/** After a clock that was weeks ahead is set back, no algorithm denies a key for weeks, in memory, in shared memory or on Redis. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createLimiter, gcra, memory, penalty, type Store } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
const MONTH = 30 * 86_400_000;

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

const STORES: Readonly<Record<string, (clock: ManualClock) => Store>> = {
  memory: (clock) => memory({ clock }),
  'shared memory': (clock) => sharedMemory({ maxKeys: 100, clock }),
  redis: (clock) => redis(client, { clock, deadline: '30s' }),
};

describe.each(Object.entries(STORES))('on %s', (storeName, make) => {
  test.each(Object.entries(CASES))(
    '%s: a key that was used while the clock was 60 days ahead is fresh once the clock is set back',
    async (name, { policies }) => {
      const clock = manualClock(START);
      const limiter = createLimiter(policies, {
        store: make(clock),
        name: `jump ${process.pid} ${storeName} ${name}`,
      });
      clock.advance(2 * MONTH);
      for (let i = 0; i < 20; i++) await limiter.take('k');
      expect((await limiter.peek('k')).allowed).toBe(false);
      clock.advance(-2 * MONTH);
      expect(await limiter.peek('k')).toEqual(await limiter.peek('never seen'));
      expect((await limiter.take('k')).allowed).toBe(true);
      for (let i = 0; i < 20; i++) await limiter.take('k');
      const { allowed, retryAfter, policies: states } = await limiter.peek('k');
      expect(allowed).toBe(false);
      expect(retryAfter).toBeLessThanOrEqual(2 * Math.max(...states.map(({ window }) => window)));
      clock.advance(retryAfter);
      expect((await limiter.take('k')).allowed).toBe(true);
    },
  );

  test('after the clock was 720 hours ahead, a limit of 10/min does not deny for 720 hours', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter('10/min', {
      store: make(clock),
      name: `month ${process.pid} ${storeName}`,
    });
    await limiter.take('k', 10);
    clock.advance(MONTH);
    await limiter.take('k', 10);
    clock.advance(-MONTH);
    expect((await limiter.take('k')).retryAfter).toBeLessThanOrEqual(60_000);
  });

  test('a penalty that started while the clock was ahead is over once the clock is set back', async () => {
    const clock = manualClock(START);
    const policies = {
      rate: gcra({ limit: 1, per: '1s' }),
      lock: penalty({ after: 3, within: '1m', block: '1h' }),
    };
    const limiter = createLimiter(policies, { store: make(clock), name: `lock ${process.pid} ${storeName}` });
    clock.advance(MONTH);
    for (let i = 0; i < 5; i++) await limiter.take('k');
    expect((await limiter.peek('k')).retryAfter).toBe(3_600_000);
    clock.advance(-MONTH);
    expect((await limiter.take('k')).allowed).toBe(true);
  });

  test('a charge that reaches a week into the future is kept', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter('1/s', { store: make(clock), name: `booked ${process.pid} ${storeName}` });
    const week = 7 * 86_400;
    await limiter.take('k', { cost: week, mode: 'always', maxDelay: Infinity });
    expect((await limiter.peek('k')).retryAfter).toBe(week * 1000);
  });

  test('two processes whose clocks differ by 20 ms admit no extra units with a window of 10 ms', async () => {
    const clock = manualClock(START);
    const limiter = createLimiter('100/s burst 1', {
      store: make(clock),
      name: `skew ${process.pid} ${storeName}`,
    });
    let passed = 0;
    for (let i = 0; i < 500; i++) {
      const right = START + i;
      for (const skew of [0, 20]) {
        clock.set(right + skew);
        if ((await limiter.take('k')).allowed) passed++;
      }
    }
    expect(passed).toBeLessThanOrEqual(53);
  });
});

test('the memory store drops rows that were written while the clock was ahead', () => {
  const clock = manualClock(START);
  const store = memory({ clock, maxKeys: 100 });
  const limiter = createLimiter('10/min', { store });
  clock.advance(MONTH);
  for (let i = 0; i < 1000; i++) limiter.take(`future ${i}`, 10);
  clock.advance(-MONTH);
  for (let i = 0; i < 50; i++) limiter.take(`now ${i}`, 10);
  const denied = Array.from({ length: 50 }, (_, i) => limiter.peek(`now ${i}`));
  expect(denied.every(({ allowed }) => !allowed)).toBe(true);
});

test('an acquire or a reserve that is denied does not count as a strike for a penalty', async () => {
  const clock = manualClock(START);
  const policies = {
    rate: gcra({ limit: 1, per: '1s' }),
    lock: penalty({ after: 3, within: '1m', block: '1h' }),
  };
  const limiter = createLimiter(policies, { store: memory({ clock }) });
  limiter.take('k');
  for (let i = 0; i < 10; i++) expect((await limiter.acquire('k', { timeout: 0 })).allowed).toBe(false);
  for (let i = 0; i < 10; i++) limiter.reserve('k', { maxDelay: '1ms' });
  const waiting = limiter.acquire('k');
  clock.advance(1000);
  expect((await waiting).allowed).toBe(true);
  expect(limiter.peek('k').policy).toBe('rate');
});
