/**
 * Compares random calls of the drop-ins for redis-cell and throttled with a second implementation of their rule, on a clock that
 * sometimes goes back. Like both originals, the second implementation counts whole nanoseconds. It uses BigInts.
 */
import { expect, test } from 'vitest';
import { createClThrottle } from '../src/redis-cell.ts';
import { createGcraRateLimiter, type GcraRateLimiter, perDuration } from '../src/throttled.ts';
import { manualClock } from 'sluice/testing';
import { random } from 'sluice-test-support/random.ts';
import { millis } from 'sluice-test-support/vectors/gcra.ts';

interface Cells {
  readonly limited: boolean;
  /** Nanoseconds until the call would pass (`wait`) and until the key is fully replenished (`debt`). */
  readonly wait: bigint;
  readonly debt: bigint;
  readonly interval: bigint;
  /** The remaining burst, in nanoseconds. */
  readonly left: bigint;
}

/**
 * The second implementation. A call with a quantity of 0 writes nothing. In redis-cell, such a call does write, which makes a
 * difference when the clock goes back.
 */
function rule() {
  const arrivals = new Map<string, bigint>();
  return (now: bigint, key: string, interval: bigint, limit: number, quantity: number): Cells => {
    const before = arrivals.get(key) ?? now;
    const start = before > now ? before : now;
    const credit = interval * BigInt(limit);
    const arrival = start + interval * BigInt(quantity);
    const wait = arrival - credit - now;
    const limited = wait > 0n;
    if (!limited && quantity > 0) arrivals.set(key, arrival);
    const debt = (limited ? start : arrival) - now;
    return { limited, wait, debt, interval, left: credit - debt };
  };
}

/** Tolerance in nanoseconds. A unit that is this close to being replenished counts as available. */
const TIME_EPSILON = 500;

const unitsOf = ({ left, interval }: Cells, more: number): number =>
  left + BigInt(more) > 0n ? Number((left + BigInt(more)) / interval) : 0;

/** The remaining units as redis-cell computes them. redis-cell truncates the interval to whole microseconds. */
const unitsByMicros = ({ left, interval }: Cells): number =>
  left > 0n ? Number(left / 1000n / (interval / 1000n)) : 0;

const seconds = (nanos: bigint): number => Math.ceil(Number(nanos / 1_000_000n) / 1000);

const RATES = [
  [1, 1],
  [10, 1],
  [3, 1],
  [7, 1],
  [301, 1],
  [999, 1],
  [2, 3],
  [300, 7],
  [11, 13],
  [7, 60],
  [30, 60],
  [1, 90],
  [10_000, 86_400],
] as const;
const BURSTS = [0, 1, 2, 4, 9, 15, 99, 1000] as const;

interface Call {
  readonly now: bigint;
  readonly key: string;
  readonly count: number;
  readonly period: number;
  readonly maxBurst: number;
  readonly quantity: number;
}

/** Yields 50 calls with one quota, or with several quotas on the same keys if `changing`. */
function* calls(seed: number, grain: number, changing: boolean): Generator<Call> {
  const draw = random(seed);
  const pick = <T>(list: readonly T[]): T => list[draw(list.length)];
  let [[count, period], maxBurst] = [pick(RATES), pick(BURSTS)];
  let now = 1_700_000_000_000_000_000n + BigInt(draw(1e6) * grain);
  for (let step = 0; step < 50; step++) {
    if (changing && draw(5) === 0) [[count, period], maxBurst] = [pick(RATES), pick(BURSTS)];
    const interval = (period * 1e9) / count;
    // If the clock went back by more than ten seconds plus a window, the library would treat keys as new.
    const back = draw(40) === 0 ? -Math.min(interval * draw(3), 10e9) : 0;
    const gap = pick([
      0,
      0,
      back,
      interval,
      (interval * draw(1000)) / 1000,
      interval * draw(20),
      interval * maxBurst,
    ]);
    now += BigInt(Math.round(gap / grain) * grain);
    const quantity = pick([1, 1, 1, 0, 2, draw(maxBurst + 2), draw(2 * maxBurst + 4)]);
    yield { now, key: `k${draw(2)}`, count, period, maxBurst, quantity };
  }
}

test('redis-cell: on a clock that counts milliseconds, 60,000 random calls return the same five integers as the reference', () => {
  const differences: string[] = [];
  const theirsAbove = [0, 0];
  for (let seed = 1; seed <= 1200; seed++) {
    const clock = manualClock();
    const throttle = createClThrottle({ clock });
    const cellsOf = rule();
    for (const { now, key, count, period, maxBurst, quantity } of calls(seed, 1e6, seed % 3 === 0)) {
      clock.set(millis(now));
      const interval = BigInt(Math.trunc((period * 1e9) / count));
      const cells = cellsOf(now, key, interval, maxBurst + 1, quantity);
      const never = quantity > maxBurst + 1;
      const retry = !cells.limited || never ? -1 : Math.max(1, seconds(cells.wait));
      const reset = cells.limited && !never ? Math.max(1, seconds(cells.debt)) : seconds(cells.debt);
      const units = unitsOf(cells, TIME_EPSILON);
      const rightly = [Number(cells.limited), maxBurst + 1, units, retry, reset].join(' ');
      const got = throttle(key, maxBurst, count, period, quantity).join(' ');
      if (got !== rightly)
        differences.push(
          `${got}, not ${rightly}: seed ${seed}, ${maxBurst} ${count} ${period} ${quantity} at ${now}`,
        );
      theirsAbove[unitsByMicros(cells) - units]++;
    }
  }
  expect(differences).toEqual([]);
  // In 41 cases, the original counts a unit shortly before it is replenished.
  expect(theirsAbove).toEqual([59_959, 41]);
});

test.each([
  [30_000, 'milliseconds', 1e6, 0],
  [29_959, 'nanoseconds', 1, 500],
])(
  'throttled: %d random calls return the same fields as the reference, on a clock that counts %s',
  (calledInAll, _, grain, off) => {
    let called = 0;
    const differences: string[] = [];
    const isNear = (span: number, nanos: bigint): boolean =>
      Math.abs(span * 1e6 - Number(nanos)) <= off + 0.01;
    for (let seed = 1; seed <= 600; seed++) {
      const clock = manualClock();
      const cellsOf = rule();
      let limiter: GcraRateLimiter | undefined;
      for (const { now, key, count, period, maxBurst, quantity } of calls(seed, grain, false)) {
        limiter ??= createGcraRateLimiter({
          quota: { rate: perDuration(count, period * 1000), maxBurst },
          clock,
        });
        clock.set(millis(now));
        const cells = cellsOf(now, key, BigInt(Math.floor((period * 1e9) / count)), maxBurst + 1, quantity);
        // These instants are too close together to differ as float64 epoch milliseconds.
        if (cells.limited && cells.wait <= BigInt(2 * off)) break;
        called++;
        const { limited, remaining, resetAfter, retryAfter } = limiter.rateLimit(key, quantity);
        const waits = cells.limited && quantity <= maxBurst + 1;
        const agrees =
          limited === cells.limited &&
          isNear(resetAfter, cells.debt) &&
          (waits ? isNear(retryAfter, cells.wait) : retryAfter === -1) &&
          remaining >= unitsOf(cells, -off) &&
          remaining <= unitsOf(cells, TIME_EPSILON + off);
        if (!agrees) differences.push(`seed ${seed}, ${maxBurst} ${count} ${period} ${quantity} at ${now}`);
      }
    }
    expect(differences).toEqual([]);
    expect(called).toBe(calledInAll);
  },
);
