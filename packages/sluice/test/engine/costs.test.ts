/** Tests fractional costs, and costs near the maximum. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  memory,
  type Policies,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { compare, someGap } from '../stores/differential.ts';
import { CASES } from '../support/policies.ts';

const START = 1_700_000_000_000;
/** In milliseconds. Within this distance of an announced instant, float error may change the decision. */
const CLOSE = 0.002;
/** The number of hit sequences per test. As in other property tests, SEED=7 generates different ones. */
const ROUNDS = 40;
const SEED = Number(process.env['SEED'] ?? 1);

/** Policies with fractional limits or drips. */
const LIMITS: Readonly<Record<string, Policies>> = {
  'gcra with a fractional burst': gcra({ limit: 3.3, per: 1000, burst: 2.7 }),
  'fixed window with a fractional limit': fixedWindow({ limit: 3.3, per: '333ms' }),
  'sliding window with a fractional limit': slidingWindow({ limit: 3.3, per: '333ms' }),
  'sliding log with a fractional limit': slidingLog({ limit: 3.3, per: '900ms' }),
  'leaky bucket with drips of a tenth': leakyBucket({ size: 5, dripSize: 0.1, dripRate: 30 }),
  'leaky bucket with fractional drips': leakyBucket({ size: 5.7, dripSize: 0.3, dripRate: 33.3 }),
  'token bucket in fractional steps': tokenBucket({
    capacity: 7,
    refill: 0.7,
    every: '70ms',
    continuous: false,
  }),
};

const ALL: Readonly<Record<string, Policies>> = {
  ...Object.fromEntries(Object.entries(CASES).map(([name, { policies }]) => [name, policies])),
  ...LIMITS,
};

type Draw = (below: number) => number;

function someCost(draw: Draw): number {
  return [draw(7), 1, draw(14) / 2, draw(70) / 10, draw(1000) / 997, draw(3000) / 333][draw(6)] ?? 1;
}

/** Calls a random verb that changes the key's remaining units. */
function change(limiter: Limiter, draw: Draw, cost: number): void {
  const mode = (['whole', 'partial', 'always'] as const)[draw(3)] ?? 'whole';
  const choice = draw(8);
  if (choice === 0) limiter.refund('k', cost);
  else if (choice === 1) limiter.release('k', cost);
  else if (choice === 2) limiter.reserve('k', { cost, maxDelay: 1 + draw(700) });
  else limiter.take('k', { cost, mode });
}

function open(policies: Policies): { limiter: Limiter; clock: ManualClock } {
  const clock = manualClock(START);
  return { limiter: createLimiter(policies, { store: memory({ clock }) }), clock };
}

/** Calls `check` after each of many random calls with fractional costs. */
function afterAnything(
  policies: Policies,
  check: (limiter: Limiter, clock: ManualClock, draw: Draw) => void,
): void {
  for (let round = 0; round < ROUNDS; round++) {
    const draw = random(SEED * ROUNDS + round);
    const { limiter, clock } = open(policies);
    for (let i = 0; i < 60; i++) {
      clock.set(clock.now() + Math.max(0, someGap(draw)));
      change(limiter, draw, someCost(draw));
      const now = clock.now();
      check(limiter, clock, draw);
      clock.set(now);
    }
  }
}

describe.each(Object.entries(ALL))('%s, after fractional costs, refunds and overdrafts,', (_, policies) => {
  test('denies until the announced instant and allows at that instant', () => {
    afterAnything(policies, (limiter, clock, draw) => {
      const cost = someCost(draw);
      const { allowed, retryAfter } = limiter.peek('k', cost);
      expect(allowed).toBe(retryAfter === 0);
      if (retryAfter === 0 || retryAfter === Infinity) return;
      const now = clock.now();
      for (const before of [(retryAfter * draw(1000)) / 1000, retryAfter - CLOSE]) {
        if (before < 0 || before > retryAfter - CLOSE) continue;
        clock.set(now + before);
        expect(limiter.peek('k', cost).allowed).toBe(false);
      }
      clock.set(now + retryAfter);
      expect(limiter.peek('k', cost).allowed).toBe(true);
    });
  });

  test('is fully replenished at the announced instant', () => {
    afterAnything(policies, (limiter, clock) => {
      const { policies: states } = limiter.peek('k');
      clock.advance(Math.max(...states.map(({ resetAfter }) => resetAfter)) + CLOSE);
      for (const state of limiter.peek('k').policies) expect(state.resetAfter).toBeLessThan(CLOSE);
    });
  });
});

const HUGE = 2 ** 53;

function numbersOf({ limit, remaining, retryAfter, resetAfter, taken, policies }: Decision): number[] {
  return [limit, remaining, retryAfter, resetAfter, taken].concat(
    policies.flatMap((state) => [state.remaining, state.retryAfter, state.resetAfter]),
  );
}

describe.each(Object.entries(ALL))('%s, with costs of 2 ** 53:', (_, policies) => {
  test('decisions contain no NaN and no negative number, however many attempts were counted', () => {
    const { limiter, clock } = open(policies);
    const draw = random(7);
    for (let i = 0; i < 200; i++) {
      clock.advance(draw(500));
      const cost = draw(2) === 0 ? HUGE : someCost(draw);
      for (const decision of [
        limiter.take('k', { cost, mode: 'always' }),
        limiter.peek('k', HUGE),
        draw(4) === 0 ? limiter.refund('k', cost) : limiter.peek('k'),
        limiter.reserve('k', { cost: HUGE, maxDelay: '1d' }).decision,
      ]) {
        // Math.min returns NaN if one of its arguments is NaN.
        expect(Math.min(...numbersOf(decision))).toBeGreaterThanOrEqual(0);
      }
    }
  });
});

test('a sliding log still counts single units after an attempt that cost 2 ** 53', () => {
  const { limiter, clock } = open(slidingLog({ limit: 5, per: 1000 }));
  limiter.take('k', { cost: HUGE, mode: 'always' });
  // The log never becomes empty. If it did, its sums would start from 0 again.
  for (let i = 0; i < 20; i++) {
    clock.advance(100);
    limiter.take('k', { cost: 1, mode: 'always' });
  }
  expect(limiter.take('k').allowed).toBe(false);
});

describe('memory and Redis', () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  afterAll(() => client.disconnect());
  const make = (clock: ManualClock) => redis(client, { onFailure: 'throw', clock, deadline: '30s' });

  test.each(Object.entries(LIMITS))('make the same decisions for %s', (name, policies) => {
    const options = { name: `fractions ${process.pid} ${name}` };
    return compare(policies, make, options, { hits: 1500, atOnce: 6 }, SEED);
  });

  test('make the same decisions on a sliding log after costs of 2 ** 53', async () => {
    const clock = manualClock(START);
    const draw = random(SEED);
    const name = `huge ${process.pid}`;
    const policy = slidingLog({ limit: 5, per: 1000 });
    const here = createLimiter(policy, { name, store: memory({ clock }) });
    const there = createLimiter(policy, { name, store: make(clock) });
    for (let i = 0; i < 300; i++) {
      clock.advance(draw(200));
      const options = { cost: draw(20) === 0 ? HUGE : draw(7), mode: 'always' } as const;
      expect(await there.take('k', options)).toEqual(here.take('k', options));
    }
  });
});
