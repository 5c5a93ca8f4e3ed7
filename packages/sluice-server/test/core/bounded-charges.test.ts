/** Tests that no call can reset a key or lock it out for a long time, whatever the cost of the call. */
import { createLimiter, type Decision, type Limiter, memory, type Policies, pacer, type Store } from 'sluice';
import { manualClock } from 'sluice/testing';
import { describe, expect, test } from 'vitest';
import { boundCharges } from '../../src/core/bounded-charges.ts';

const HUGE = 2 ** 53;

function open(policies: Policies, maxCost?: number): Limiter<Decision> {
  const store = boundCharges(memory({ clock: manualClock() }), maxCost) as Store<Decision>;
  return createLimiter(policies, { name: 'test', store });
}

const POLICIES = [
  '100/min',
  '100/min burst 20',
  '100/min token-bucket',
  '100/min leaky-bucket',
  '100/min fixed-window',
  '100/min sliding-window',
  '100/min sliding-log',
  '100/min pacer',
];

describe.each(POLICIES)('under %s,', (policies) => {
  /** Milliseconds for which the key is denied. */
  const deniedFor = (limiter: Limiter<Decision>): number => limiter.peek('key').retryAfter;
  const attempt = (call: () => unknown): void => {
    try {
      call();
    } catch (error) {
      expect(error).toMatchObject({ code: 'ERR_COST' });
    }
  };

  test.each([
    ['takes', (limiter: Limiter<Decision>) => limiter.take('key', HUGE)],
    [
      'takes in mode always',
      (limiter: Limiter<Decision>) => limiter.take('key', { cost: HUGE, mode: 'always' }),
    ],
    [
      'takes in mode partial',
      (limiter: Limiter<Decision>) => limiter.take('key', { cost: HUGE, mode: 'partial' }),
    ],
    ['settlements', (limiter: Limiter<Decision>) => limiter.settle('key', { charged: 0, used: HUGE })],
    ['small settlements', (limiter: Limiter<Decision>) => limiter.settle('key', { charged: 0, used: 20 })],
    ['reservations', (limiter: Limiter<Decision>) => limiter.reserve('key', HUGE)],
    ['small reservations', (limiter: Limiter<Decision>) => limiter.reserve('key', 20)],
  ] as const)('%s cannot cause a key to be denied for more than two and a half windows', (_, call) => {
    const limiter = open(policies);
    limiter.take('key');
    for (let i = 0; i < 200; i++) attempt(() => call(limiter));
    expect(deniedFor(limiter)).toBeLessThanOrEqual(150_000);
  });

  test('refunds, releases and settlements that would give back more than the limit are rejected and give nothing back', () => {
    const limiter = open(policies);
    for (let i = 0; i < 10; i++) limiter.take('key');
    const before = limiter.peek('key');
    for (const call of [
      () => limiter.refund('key', 101),
      () => limiter.release('key', 101),
      () => limiter.settle('key', { charged: HUGE, used: 0 }),
    ])
      expect(call).toThrow(
        /must be at most \d+, the limit of policy "default" \(the server's --max-cost option/,
      );
    expect(limiter.peek('key')).toEqual(before);
  });
});

test('a reservation is rejected if its maxDelay is longer than the longest window', () => {
  const limiter = open('100/min burst 20');
  expect(() => limiter.reserve('key', { maxDelay: '2m' })).toThrow('maxDelay must be at most 60000 ms');
  expect(limiter.peek('key').remaining).toBe(20);
  expect(limiter.reserve('key', { maxDelay: '1m' }).delay).toBe(0);
});

test('a settlement that would charge more than the limit charges only the limit', () => {
  const limiter = open('100/min');
  limiter.settle('key', { charged: 0, used: 300 });
  expect(limiter.peek('key')).toMatchObject({ remaining: 0, retryAfter: 600 });
});

test('a take whose cost exceeds the limit is denied, but with a pacer it throws, because a pacer would allow the take', () => {
  expect(open('100/min').take('key', 101)).toMatchObject({ allowed: false, retryAfter: Infinity });
  expect(open('100/min').take('key', { cost: 101, mode: 'partial' })).toMatchObject({ taken: 100 });
  const paced = open(pacer({ limit: 100, per: '1m' }));
  expect(() => paced.take('key', 101)).toThrow('cost must be at most 100');
  expect(paced.take('key', 100).allowed).toBe(true);
});

test("the cost for each policy is bounded by that policy's own limit", () => {
  const limiter = open({ requests: '10/min', tokens: '1000/min' });
  limiter.take('key', { cost: { requests: 1, tokens: 900 } });
  expect(() => limiter.refund('key', { cost: { requests: 1, tokens: 1001 } })).toThrow('policy "tokens"');
  expect(() => limiter.refund('key', 11)).toThrow('policy "requests"');
  limiter.refund('key', { cost: { requests: 1, tokens: 900 } });
  expect(limiter.peek('key').policies.map(({ remaining }) => remaining)).toEqual([10, 1000]);
});

test('maxCost replaces the limit as the maximum cost', () => {
  const limiter = open('100/min', 5);
  for (const call of [
    () => limiter.take('key', 6),
    () => limiter.take('key', { cost: 6, mode: 'always' }),
    () => limiter.reserve('key', 6),
    () => limiter.refund('key', 6),
    () => limiter.takeMany([{ key: 'key', cost: 6 }]),
    () => limiter.takeMany([{ key: 'a' }, { key: 'b', cost: 6 }]),
  ])
    expect(call).toThrow('cost must be at most 5, the maximum cost of this server');
  expect(limiter.peek('a').remaining).toBe(100);
  expect(limiter.take('key', 5).allowed).toBe(true);
  const generous = open('100/min', 500);
  generous.settle('key', { charged: 0, used: 500 });
  expect(generous.peek('key').retryAfter).toBeCloseTo(240_600);
});
