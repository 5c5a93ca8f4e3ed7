/**
 * Tests that values expire when they are fully replenished, and not much later. The server uses the clock of this machine.
 */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createLimiter, type Decision, gcra, type Limiter, type Policies } from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { CASES } from '../../support/policies.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

const CENTURY = 3_155_760_000_000;
const GONE = -2;

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

let limiters = 0;
function limiterOf(policies: Policies): {
  readonly limiter: Limiter<Promise<Decision>>;
  readonly expiry: () => Promise<number>;
} {
  const name = `expiry ${process.pid} ${++limiters}`;
  return {
    limiter: createLimiter(policies, { store: redis(client, { onFailure: 'throw', deadline: '5s' }), name }),
    expiry: async () => Number(await client.call('PEXPIRETIME', `${name}:{a}`)),
  };
}

const clearIn = ({ policies }: Decision): number =>
  Math.min(CENTURY, Math.max(...policies.map(({ resetAfter }) => resetAfter)));

/** A missing value is accepted if its time is over, because the machine may have been busy. */
function expectToLast(expires: number, since: number, clear: number): void {
  expect(expires === GONE ? Date.now() : expires).toBeGreaterThanOrEqual(Math.floor(since + clear));
}

describe.each(Object.entries(CASES))('%s', (_, { policies }) => {
  test('a value is kept until it is fully replenished, and at most 1.5 times as long', async () => {
    const { limiter, expiry } = limiterOf(policies);
    let last = 0;
    for (let i = 0; i < 60; i++) {
      const before = Date.now();
      const cost = 1 + (i % 3);
      const mode = i % 4 === 3 ? 'always' : 'whole';
      const decision = i % 10 === 9 ? await limiter.refund('a') : await limiter.take('a', { cost, mode });
      const clear = clearIn(decision);
      last = Math.max(last, Date.now() + 1.5 * clear);
      const expires = await expiry();
      expectToLast(expires, before, clear);
      expect(expires).toBeLessThanOrEqual(last + 2);
    }
  });

  test('a value that was written only once expires as soon as it is fully replenished', async () => {
    const { limiter, expiry } = limiterOf(policies);
    const before = Date.now();
    const clear = clearIn(await limiter.take('a'));
    const after = Date.now();
    const expires = await expiry();
    expectToLast(expires, before, clear);
    expect(expires).toBeLessThanOrEqual(after + clear + 2);
  });

  test('a manual block lasts as long as requested, and earlier charges are still known afterwards', async () => {
    const { limiter, expiry } = limiterOf(policies);
    const { remaining } = await limiter.take('a', 2);
    const before = Date.now();
    await limiter.block('a', '1d');
    expect(await expiry()).toBeGreaterThanOrEqual(before + 86_400_000);
    await limiter.block('a', 1);
    await until(async () => (await limiter.peek('a')).policy !== 'block', 10_000, 1);
    const after = await limiter.peek('a');
    expect(after.remaining).toBeGreaterThanOrEqual(remaining);
    expectToLast(await expiry(), before, clearIn(after));
    await limiter.take('a', { mode: 'always' });
    expect((await limiter.peek('a')).policy).not.toBe('block');
  });
});

test('Redis deletes a value once it is fully replenished', async () => {
  const { limiter, expiry } = limiterOf(gcra({ limit: 1, per: '30ms' }));
  await limiter.take('a');
  await until(async () => (await expiry()) === GONE);
});

test('the expiry of a key in use is rarely updated', async () => {
  const { limiter, expiry } = limiterOf(gcra({ limit: 1000, per: '1h' }));
  const given = new Set<number>();
  for (let i = 0; i < 200; i++) {
    await limiter.take('a');
    given.add(await expiry());
  }
  expect(given.size).toBeLessThanOrEqual(20);
});
