/** Attempts beyond the limit and booked turns cause denials for at most one window, unless the caller asks for more. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  type MaybePromise,
  memory,
  pacer,
  type Policies,
  slidingLog,
  slidingWindow,
  type Store,
  tokenBucket,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';

const START = 1_700_000_000_000;
const MINUTE = 60_000;

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

const STORES = {
  memory: (clock: ManualClock): Store => memory({ clock }),
  'shared memory': (clock: ManualClock): Store => sharedMemory({ maxKeys: 1000, clock }),
  redis: (clock: ManualClock): Store => redis(client, { clock, deadline: '30s' }),
};

let names = 0;

function open(policies: Policies, store: keyof typeof STORES) {
  const clock = manualClock(START);
  const name = `overdraft ${process.pid} ${names++}`;
  const limiter: Limiter<MaybePromise<Decision>> = createLimiter(policies, {
    store: STORES[store](clock),
    name,
  });
  return { limiter, clock };
}

function openHere(policies: Policies): { limiter: Limiter; clock: ManualClock } {
  const clock = manualClock(START);
  return { limiter: createLimiter(policies, { store: memory({ clock }) }), clock };
}

/** A limit of ten per minute with every algorithm, and how long a key may be denied after many attempts. */
const TEN_A_MINUTE: Readonly<Record<string, readonly [Policies, number]>> = {
  gcra: [gcra({ limit: 10, per: MINUTE }), MINUTE],
  'token bucket in steps': [
    tokenBucket({ capacity: 10, refill: 10, every: MINUTE, continuous: false }),
    MINUTE,
  ],
  'leaky bucket': [leakyBucket({ size: 10, dripRate: 6000 }), MINUTE],
  pacer: [pacer({ limit: 10, per: MINUTE }), MINUTE],
  'pacer with a burst': [pacer({ limit: 10, per: MINUTE, maxBurst: 5 }), MINUTE],
  'pacer warming up': [pacer({ limit: 10, per: MINUTE, warmup: '30s' }), MINUTE],
  'fixed window': [fixedWindow({ limit: 10, per: MINUTE }), MINUTE],
  'sliding log': [slidingLog({ limit: 10, per: MINUTE }), MINUTE],
  // The current count becomes the previous one, which counts for another window.
  'sliding window': [slidingWindow({ limit: 10, per: MINUTE }), 2 * MINUTE],
};

/**
 * How many attempts pass in 500 seconds with algorithms that give many units back at the same instant. Nine windows end in this
 * time.
 */
const PASS_ANYWAY: Readonly<Record<string, number>> = { 'fixed window': 90, 'token bucket in steps': 9 };

describe.each(Object.entries(TEN_A_MINUTE))("mode 'always' with %s:", (name, [policies, longest]) => {
  test('10,000 attempts cause denials for at most one window after the last attempt', () => {
    const { limiter } = openHere(policies);
    for (let i = 0; i < 10_000; i++) limiter.take('k', { mode: 'always' });
    const { retryAfter } = limiter.peek('k');
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(longest + 0.001);
  });

  test('a client that does not stop trying stays denied, unless many units come back at the same instant', () => {
    const { limiter, clock } = openHere(policies);
    for (let i = 0; i < 100; i++) limiter.take('k', { mode: 'always' });
    let passed = 0;
    for (let i = 0; i < 500; i++) {
      clock.advance(1000);
      if (limiter.take('k', { mode: 'always' }).allowed) passed++;
    }
    expect(passed).toBeLessThanOrEqual(PASS_ANYWAY[name] ?? 0);
  });

  test('costs above the limit cause denials for at most one window', () => {
    const { limiter } = openHere(policies);
    limiter.take('k', 10);
    // After its first grant, a pacer may deny the key for longer than a window.
    const before = limiter.peek('k').retryAfter;
    for (let i = 0; i < 5; i++) limiter.take('k', { cost: 1000, mode: 'always' });
    const { retryAfter } = limiter.peek('k');
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(Math.max(before, longest) + 0.001);
  });
});

describe.each(['memory', 'shared memory', 'redis'] as const)('on %s', (store) => {
  test("10,000 attempts in mode 'always' at 10/min cause denials for a minute, not for 16.65 hours", async () => {
    const { limiter } = open('10/min', store);
    await Promise.all(Array.from({ length: 10_000 }, async () => limiter.take('k', { mode: 'always' })));
    const { retryAfter } = await limiter.peek('k');
    expect(retryAfter).toBeGreaterThan(MINUTE - 1);
    expect(retryAfter).toBeLessThanOrEqual(MINUTE);
  });

  test('a maxDelay of Infinity charges every attempt in full', async () => {
    const { limiter } = open('10/min', store);
    await Promise.all(
      Array.from({ length: 10_000 }, async () => limiter.take('k', { mode: 'always', maxDelay: Infinity })),
    );
    expect((await limiter.peek('k')).retryAfter).toBeCloseTo(9991 * 6000, 0);
  });

  test('maxDelay limits how long attempts can cause denials', async () => {
    const { limiter } = open('10/min', store);
    for (let i = 0; i < 100; i++) await limiter.take('k', { mode: 'always', maxDelay: '5m' });
    expect((await limiter.peek('k')).retryAfter).toBe(5 * MINUTE);
  });

  test('each of several policies is charged up to its own bound, and `taken` is the smallest of these charges', async () => {
    const policies = { burst: gcra({ limit: 10, per: '1s' }), hour: fixedWindow({ limit: 1000, per: '1h' }) };
    const { limiter } = open(policies, store);
    let taken = 0;
    for (let i = 0; i < 100; i++) taken += (await limiter.take('k', { mode: 'always' })).taken;
    expect(taken).toBeCloseTo(19);
    const [burst, hour] = (await limiter.peek('k')).policies;
    expect(burst.retryAfter).toBeLessThanOrEqual(1000);
    expect(hour.remaining).toBe(900);
  });

  test('refunding the charges of denied attempts creates no units', async () => {
    const { limiter } = open('10/min', store);
    const passed = await limiter.take('k', 10);
    const taken: number[] = [];
    for (let i = 0; i < 100; i++) taken.push((await limiter.take('k', { mode: 'always' })).taken);
    for (const cost of taken) if (cost > 0) await limiter.refund('k', cost);
    expect(passed.allowed).toBe(true);
    expect((await limiter.peek('k')).remaining).toBe(0);
  });

  test('reserve books turns at most one window ahead', async () => {
    const { limiter } = open('10/s', store);
    const turns = await Promise.all(Array.from({ length: 1000 }, async () => limiter.reserve('k')));
    const booked = turns.filter(({ delay }) => delay < Infinity);
    expect(booked.length).toBe(20);
    expect(Math.max(...booked.map(({ delay }) => delay))).toBeCloseTo(1000);
    expect(turns.at(-1)).toMatchObject({ delay: Infinity, decision: { allowed: false, taken: 0 } });
    expect((await limiter.peek('k')).retryAfter).toBeCloseTo(1100);
  });

  test('reserve books turns at most maxDelay ahead', async () => {
    const { limiter } = open('10/s', store);
    const far = { maxDelay: Infinity };
    const turns = await Promise.all(Array.from({ length: 1000 }, async () => limiter.reserve('k', far)));
    expect(turns.at(-1)?.delay).toBeCloseTo(99_000);
  });
});

test('100,000 reservations at 10/s cause denials for about a second, not for 2.78 hours', () => {
  const { limiter } = openHere('10/s');
  for (let i = 0; i < 100_000; i++) limiter.reserve('k');
  expect(limiter.peek('k').retryAfter).toBeLessThanOrEqual(1100.001);
});

test('with several policies, reserve books turns at most the longest of their windows ahead', () => {
  const { limiter } = openHere({
    second: gcra({ limit: 10, per: '1s' }),
    minute: gcra({ limit: 20, per: '1m' }),
  });
  limiter.take('k', 10);
  limiter.take('other', 1);
  const delays = Array.from({ length: 100 }, () => limiter.reserve('k').delay);
  expect(Math.max(...delays.filter((delay) => delay < Infinity))).toBeCloseTo(MINUTE, -3);
});

test('take rejects maxDelay unless the mode is always', () => {
  const { limiter } = openHere('10/min');
  expect(() => limiter.take('k', { maxDelay: Infinity })).toThrow(/maxDelay.*only with mode: 'always'/);
});

describe('partial takes at rates above two million a second', () => {
  test.each([2e6, 3e6, 1e7, 1e9])('allow a fresh key its whole burst at %d per second', (limit) => {
    const { limiter } = openHere(gcra({ limit, per: '1s', burst: 100 }));
    expect(limiter.take('k', { cost: 1000, mode: 'partial' })).toMatchObject({ allowed: true, taken: 100 });
  });

  test('take at least the reported remaining units minus one', async () => {
    for (let limit = 2_000_003; limit < 9_000_000; limit += 70_001) {
      const { limiter, clock } = openHere(gcra({ limit, per: '1s', burst: limit / 100 }));
      for (let i = 0; i < 50; i++) {
        clock.advance((i * 7) / 1024);
        const { remaining } = limiter.peek('k');
        const { taken } = limiter.take('k', { cost: limit, mode: 'partial' });
        expect(taken).toBeGreaterThanOrEqual(Math.max(0, remaining - 1));
      }
    }
  });
});
