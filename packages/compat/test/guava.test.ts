/** Tests the drop-in for Guava's RateLimiter: all recorded steps, the rest of the API, and the same rules on a store. */
import { describe, expect, test } from 'vitest';
import { createLimiter, pacer } from 'sluice';
import { type DistributedRateLimiter, RateLimiter, type RateLimiterOptions } from '../src/guava.ts';
import { type ManualClock, manualClock } from 'sluice/testing';
import { STORES } from './stores.ts';
import { Ledger, load } from 'sluice-test-support/vectors/vector.ts';

interface Step {
  readonly op: 'acquire' | 'tryAcquire' | 'setRate' | 'getRate' | 'toString';
  readonly advanceMicros: number;
  readonly atMicros: number;
  readonly permits: number;
  readonly permitsPerSecond?: number | 'Infinity';
  readonly timeoutMs?: number;
  /** Microseconds that the call waited. Absent if the arguments were rejected. */
  readonly waitedMicros?: number;
  readonly expected: unknown;
}

interface Scenario {
  readonly id: string;
  readonly permitsPerSecond: number | 'Infinity';
  readonly maxBurstSeconds?: number;
  readonly warmupMs?: number;
  readonly coldFactor?: number;
  readonly startMicros: number;
  readonly sleepAdvancesClock: boolean;
  readonly needsInt64?: boolean;
  readonly steps: readonly Step[];
}

type Verbs = RateLimiter | DistributedRateLimiter;

const { scenarios } = load<{ scenarios: Scenario[] }>('guava');
const compared = scenarios.filter((one) => !one.needsInt64 && (one.warmupMs ?? 1) >= 0.001);
const isCompared = ({ op }: Step): boolean => op !== 'toString';

function shapeOf({ warmupMs, coldFactor, maxBurstSeconds }: Scenario): RateLimiterOptions {
  return { warmup: warmupMs, coldFactor, maxBurstSeconds };
}

/** Replays a scenario as it was recorded, by setting the clock before each call. Returns the differences. */
async function differences(
  scenario: Scenario,
  clock: ManualClock,
  make: (sleep: (ms: number) => void) => Verbs,
  microsPerStep = 0,
): Promise<readonly string[]> {
  const ledger = new Ledger();
  const base = clock.now();
  let slept = 0;
  const limiter = make((ms) => {
    slept += ms;
  });
  for (const [index, step] of scenario.steps.entries()) {
    if (!isCompared(step)) continue;
    ledger.at(index, step);
    clock.set(base + (step.atMicros - scenario.startMicros) / 1000);
    slept = 0;
    const got = await answer(limiter, step);
    if (step.op === 'getRate') ledger.near('rate', Number(got), Number(step.expected), microsPerStep * 1e-9);
    else if (step.waitedMicros !== undefined) {
      const within = (microsPerStep * (index + 1)) / 1000 + 1e-9;
      ledger.near('slept', slept, step.waitedMicros / 1000, within);
      if (step.op === 'tryAcquire') ledger.same('granted', got, step.expected);
      else ledger.near('waited', Number(got), step.waitedMicros / 1e6, within / 1000);
    } else if (step.op !== 'setRate') ledger.same('refused', got instanceof RangeError, true);
  }
  return ledger.differences;
}

async function answer(limiter: Verbs, step: Step): Promise<unknown> {
  try {
    if (step.op === 'acquire') return await limiter.acquire(step.permits);
    if (step.op === 'tryAcquire') return await limiter.tryAcquire(step.permits, step.timeoutMs);
    if (step.op === 'setRate') return limiter.setRate(Number(step.permitsPerSecond));
    return limiter.getRate();
  } catch (error) {
    return error;
  }
}

describe('recorded scenarios:', () => {
  test('93 scenarios with 3590 steps are compared', () => {
    expect(compared).toHaveLength(93);
    expect(compared.flatMap(({ steps }) => steps.filter(isCompared))).toHaveLength(3590);
  });

  for (const [when, base] of Object.entries({ 'that starts at 0': 0, 'in epoch time': 1_700_000_000_000 })) {
    for (const scenario of compared) {
      test(`${scenario.id} gives the recorded results on a clock ${when}`, async () => {
        const clock = manualClock(base + scenario.startMicros / 1000);
        const make = (sleep: (ms: number) => void) =>
          RateLimiter.create(Number(scenario.permitsPerSecond), { ...shapeOf(scenario), clock, sleep });
        expect(await differences(scenario, clock, make)).toEqual([]);
      });
    }
  }

  test('each call is made at the recorded instant if sleeping advances the clock', async () => {
    for (const scenario of compared.filter(({ sleepAdvancesClock }) => sleepAdvancesClock)) {
      const clock = manualClock(scenario.startMicros / 1000);
      const limiter = RateLimiter.create(Number(scenario.permitsPerSecond), {
        ...shapeOf(scenario),
        clock,
        sleep: (ms) => clock.advance(ms),
      });
      for (const [index, step] of scenario.steps.entries()) {
        clock.advance(step.advanceMicros / 1000);
        const { id } = scenario;
        const off = Math.abs(clock.now() * 1000 - step.atMicros);
        expect({ id, index, near: off <= index + 1 }).toEqual({ id, index, near: true });
        const got = await answer(limiter, step);
        if (step.op === 'tryAcquire' && step.waitedMicros !== undefined)
          expect({ id, index, got }).toEqual({ id, index, got: step.expected });
      }
    }
  });
});

describe('RateLimiter:', () => {
  const open = (rate: number, options: RateLimiterOptions = {}) => {
    const clock = manualClock();
    return { clock, limiter: RateLimiter.create(rate, { clock, ...options }) };
  };

  test('reserve returns milliseconds, and acquire returns seconds', async () => {
    const { limiter } = open(5, { sleep: () => undefined });
    expect([limiter.reserve(), limiter.reserve(2)]).toEqual([0, 200]);
    expect(await limiter.acquire()).toBe(0.6);
  });

  test('stores the unused permits of one second by default', () => {
    const { clock, limiter } = open(2);
    limiter.reserve();
    clock.advance(60_000);
    // Two stored permits pass, then one permit every half second. The fourth call waits for the permit that the third one took.
    expect([1, 1, 1, 1].map((permits) => limiter.reserve(permits))).toEqual([0, 0, 0, 500]);
  });

  test('tryAcquire passes with a timeout equal to its wait, but not with a timeout that is a microsecond shorter', async () => {
    const { limiter } = open(5, { sleep: () => undefined });
    limiter.reserve();
    expect(await limiter.tryAcquire(1, 199.999)).toBe(false);
    expect(await limiter.tryAcquire(1, 200)).toBe(true);
    expect(await limiter.tryAcquire(1, -5)).toBe(false);
    expect(await limiter.tryAcquire(1, Infinity)).toBe(true);
    expect(limiter.reserve()).toBe(600);
  });

  test('tryAcquire without a timeout never waits, however short the wait would be', async () => {
    const { limiter } = open(1000);
    expect([await limiter.tryAcquire(), await limiter.tryAcquire(), limiter.reserve()]).toEqual([
      true,
      false,
      1,
    ]);
  });

  test('a call books its turn before it waits, so two concurrent calls wait one after the other', async () => {
    const { clock, limiter } = open(10);
    const waits = Promise.all([limiter.acquire(), limiter.acquire(), limiter.acquire()]);
    clock.advance(200);
    expect(await waits).toEqual([0, 0.1, 0.2]);
  });

  test('waits on the given clock if no sleep function is given', async () => {
    const { clock, limiter } = open(10);
    limiter.reserve();
    let passed = false;
    const turn = limiter.acquire().then(() => (passed = true));
    clock.advance(99.9);
    await Promise.resolve();
    expect(passed).toBe(false);
    clock.advance(0.1);
    await turn;
    expect(passed).toBe(true);
  });

  test('waits in real time if no clock is given', async () => {
    const limiter = RateLimiter.create(200);
    await limiter.acquire();
    const start = performance.now();
    await limiter.acquire();
    expect(performance.now() - start).toBeGreaterThan(4);
  });

  test('a clock that goes back does not create permits', () => {
    const { clock, limiter } = open(10);
    clock.advance(1000);
    expect(limiter.reserve(11)).toBe(0);
    clock.set(0);
    expect(limiter.reserve()).toBe(1100);
  });

  test('limits again when an infinite rate without a burst becomes finite', () => {
    const { clock, limiter } = open(Infinity, { maxBurstSeconds: 0 });
    expect(limiter.getRate()).toBe(Infinity);
    clock.advance(1000);
    expect([limiter.reserve(1e9), limiter.reserve(1)]).toEqual([0, 0]);
    limiter.setRate(10);
    clock.advance(1000);
    expect([limiter.reserve(), limiter.reserve()]).toEqual([0, 100]);
  });

  test('idle time at an infinite rate stores no permits', () => {
    const { clock, limiter } = open(Infinity, { warmup: '10s' });
    clock.advance(10_000);
    limiter.setRate(1);
    expect([limiter.reserve(), limiter.reserve(), limiter.reserve()]).toEqual([0, 1000, 2000]);
  });

  test('a warm-up of 0 stores no permits, even after a pause', () => {
    const { clock, limiter } = open(5, { warmup: 0 });
    clock.advance(10_000);
    expect([limiter.reserve(), limiter.reserve(), limiter.reserve()]).toEqual([0, 200, 400]);
  });

  test('accepts the warm-up as a string', () => {
    const first = ({ limiter }: ReturnType<typeof open>) => [limiter.reserve(3), limiter.reserve()];
    expect(first(open(5, { warmup: '4s' }))).toEqual(first(open(5, { warmup: 4000 })));
  });

  test.each([0, -1, Number.NaN, -Infinity, '5', undefined])('rejects a rate of %s', (rate) => {
    const { limiter } = open(5);
    expect(() => RateLimiter.create(rate as number)).toThrow(RangeError);
    expect(() => limiter.setRate(rate as number)).toThrow(RangeError);
    expect(limiter.getRate()).toBe(5);
  });

  test.each([0, -1, 1.5, Number.NaN, Infinity])('rejects %s permits and charges nothing', async (permits) => {
    const { limiter } = open(5);
    const far = RateLimiter.distributed(5, { store: STORES['memory'](manualClock()) });
    for (const one of [limiter, far]) {
      await expect(one.acquire(permits)).rejects.toThrow(RangeError);
      await expect(one.tryAcquire(permits, 1000)).rejects.toThrow(RangeError);
    }
    expect(() => limiter.reserve(permits)).toThrow(RangeError);
    expect([limiter.reserve(), await far.reserve()]).toEqual([0, 0]);
  });

  test.each<[string, object]>([
    ['warmup', { warmup: -1 }],
    ['warmup', { warmup: 'soon' }],
    ['coldFactor', { coldFactor: 3 }],
    ['coldFactor', { warmup: 1, coldFactor: -1 }],
    ['maxBurstSeconds', { maxBurstSeconds: -1 }],
    ['maxBurstSeconds', { warmup: 1, maxBurstSeconds: 1 }],
    ['burst', { burst: 1 }],
    ['clock', { clock: {} }],
  ])('rejects an invalid %s: %j', (_, options) => {
    expect(() => RateLimiter.create(5, options)).toThrow(RangeError);
  });

  test('rejects a timeout that is not a number', async () => {
    await expect(open(5).limiter.tryAcquire(1, Number.NaN)).rejects.toThrow(RangeError);
  });
});

describe.each(['memory', 'redis 7'])('distributed, on %s:', (name) => {
  const makeStore = STORES[name];

  /**
   * Leaves out scenarios with idle time before the first call or an infinite first rate, for which `distributed` stores nothing.
   */
  const there = compared.filter(
    ({ permitsPerSecond, startMicros, steps, warmupMs }) =>
      permitsPerSecond !== 'Infinity' && (warmupMs !== undefined || steps[0]?.atMicros === startMicros),
  );

  test('replays 76 scenarios with 2846 steps', () => {
    expect(there).toHaveLength(76);
    expect(there.flatMap(({ steps }) => steps.filter(isCompared))).toHaveLength(2846);
  });

  for (const scenario of there) {
    test(`${scenario.id} agrees with the original to within a microsecond per step`, async () => {
      const clock = manualClock(1_700_000_000_000 + scenario.startMicros / 1000);
      const store = makeStore(clock);
      const make = (sleep: (ms: number) => void) =>
        RateLimiter.distributed(Number(scenario.permitsPerSecond), { ...shapeOf(scenario), store, sleep });
      expect(await differences(scenario, clock, make, 1)).toEqual([]);
    });
  }

  test('two limiters on one key share one pace, so the permits of one delay the other, and each charges at its own rate', async () => {
    const clock = manualClock(1_700_000_000_000);
    const store = makeStore(clock);
    const fast = RateLimiter.distributed(10, { store, key: 'a' });
    const slow = RateLimiter.distributed(2, { store, key: 'a' });
    const other = RateLimiter.distributed(2, { store, key: 'b' });
    expect([await fast.reserve(), await slow.reserve(), await fast.reserve()]).toEqual([0, 100, 600]);
    expect(await other.reserve()).toBe(0);
  });

  test('at an infinite rate nothing is charged, but callers still wait for permits that were booked earlier', async () => {
    const clock = manualClock(1_700_000_000_000);
    const limiter = RateLimiter.distributed(10, { store: makeStore(clock) });
    await limiter.reserve(5);
    limiter.setRate(Infinity);
    expect([await limiter.reserve(1e9), await limiter.reserve()]).toEqual([500, 500]);
    expect(await limiter.tryAcquire(1, 499)).toBe(false);
    clock.advance(500);
    expect(await limiter.tryAcquire(1000)).toBe(true);
  });

  test('a refund to a fully replenished key stores nothing', async () => {
    const clock = manualClock(1_700_000_000_000);
    const policy = pacer({ limit: 10, per: 1000, maxBurst: 5, fresh: 'empty' });
    const limiter = createLimiter(policy, { store: makeStore(clock), name: 'refund' });
    await limiter.take('k');
    await limiter.reset('k');
    await limiter.refund('k', 3);
    clock.advance(300);
    await limiter.take('k');
    expect((await limiter.take('k')).retryAfter).toBe(100);
  });
});
