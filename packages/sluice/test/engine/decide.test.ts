import { describe, expect, test } from 'vitest';
import { penaltyAlgorithm, type PenaltyParams } from '../../src/algorithms/penalty/penalty.ts';
import { slidingLogAlgorithm, type SlidingLogParams } from '../../src/algorithms/sliding-log/sliding-log.ts';
import { TIME_EPSILON } from '../../src/engine/contract.ts';
import {
  createLimiter,
  type Decision,
  gcra,
  type Limiter,
  memory,
  penalty,
  type Policy,
  slidingLog,
} from '../../src/index.ts';
import type { Algorithm } from '../../src/store.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';

const START = 1_700_000_000_000;

describe('a partial take', () => {
  /** Allows only even costs. `available` counts single units, so it may be one more than what is allowed. */
  const pairs: Algorithm<{ readonly limit: number }> = {
    name: 'pairs',
    width: () => 1,
    available: (p, row, at) => p.limit - row[at],
    waitFor: (p, row, at, _now, cost) => (cost % 2 === 0 && row[at] + cost <= p.limit ? 0 : 1000),
    take(_, row, at, _now, cost) {
      row[at] += cost;
    },
    give() {},
    clearIn: (_, row, at) => (row[at] === 0 ? 0 : Infinity),
  };

  test('takes one unit less if the policy would deny a take of all its remaining units', () => {
    const policy: Policy = { algorithm: pairs, params: { limit: 5 }, limit: 5, window: 1000 };
    const limiter = createLimiter(policy, { store: memory({ clock: manualClock(START) }) });
    expect(limiter.take('k', { cost: 8, mode: 'partial' })).toMatchObject({ allowed: true, taken: 4 });
    expect(limiter.take('k', { cost: 8, mode: 'partial' })).toMatchObject({ allowed: false, taken: 0 });
  });

  test('never charges a cost that would be denied in whole mode, even if a rounding error makes one more unit seem available', () => {
    // A unit is replenished in 0.1 µs, so the tolerance of 0.5 µs (TIME_EPSILON) adds 5 units. That makes 49 − 17 + 5 = 37 units,
    // but because of a rounding error, a take of 37 is denied.
    const open = (): Limiter => {
      const limiter = createLimiter(gcra({ limit: 10_000, per: '1ms', burst: 49 }), {
        store: memory({ clock: manualClock(932.144_503_850_901_3) }),
      });
      limiter.take('k', 17);
      return limiter;
    };
    expect(open().take('k', 37).allowed).toBe(false);
    expect(open().take('k', { cost: 48, mode: 'partial' }).taken).toBe(36);
  });
});

describe('a sliding log', () => {
  const { params } = slidingLog({ limit: 5, per: '1h' }) as Policy & { params: SlidingLogParams };
  const log = slidingLogAlgorithm;

  /** The row after taking a hundredth of a unit every second, `times` times. */
  function taken(times: number): Float64Array {
    let row: Float64Array = new Float64Array(3);
    for (let i = 0; i < times; i++) {
      row = log.variableLength?.grow(params, row, START + 1000 * i) as Float64Array;
      log.take(params, row, 0, START + 1000 * i, 0.01);
    }
    return row;
  }

  test('keeps a bounded number of entries, however small the costs', () => {
    const row = taken(450);
    expect(params.entries).toBe(100);
    expect(row[1] - row[0]).toBe(params.entries);
    expect(row.length).toBeLessThanOrEqual(log.variableLength?.maxWidth(params) as number);
  });

  test('still counts merged entries until the newest of them has expired', () => {
    const row = taken(450);
    const last = START + 1000 * 449;
    expect(log.available(params, row, 0, last)).toBeCloseTo(0.5);
    // 350 entries were merged into the 351st, so all of them expire with it.
    const merged = START + 1000 * 350;
    expect(log.waitFor(params, row, 0, last, 2)).toBe(merged + params.per - last);
    expect(log.available(params, row, 0, merged + params.per - 1)).toBeCloseTo(0.5);
    expect(log.available(params, row, 0, merged + params.per)).toBeCloseTo(5 - 0.99);
  });
});

describe('a penalty', () => {
  const strikes = penalty({ after: 3, within: '10s', block: '1s' });

  /** The only unit of the day is already taken, so every further take is a denial and a strike. */
  function open(): { clock: ManualClock; strike: () => Decision } {
    const clock = manualClock(START);
    const policies = { base: gcra({ limit: 1, per: '1d' }), strikes };
    const limiter = createLimiter(policies, { store: memory({ clock }) });
    limiter.take('k');
    return { clock, strike: () => limiter.take('k') };
  }

  const blockOf = ({ policies }: Decision): number => policies[1].retryAfter;

  test('still counts the strikes from before the clock went back', () => {
    const { clock, strike } = open();
    strike();
    strike();
    clock.set(START - 9000);
    expect(blockOf(strike())).toBe(1000);
  });

  test('is extended by at most as much time as the clock went back, and attempts do not extend it', () => {
    const { clock, strike } = open();
    for (let i = 0; i < 3; i++) strike();
    clock.set(START - 5000);
    for (let i = 0; i < 5; i++) expect(blockOf(strike())).toBe(6000);
    clock.set(START + 1000);
    expect(blockOf(strike())).toBe(0);
  });

  test('measures `within` from the first new strike, not from the end of the last block', () => {
    const { clock, strike } = open();
    for (let i = 0; i < 3; i++) strike();
    for (const second of [10, 10.5]) {
      clock.set(START + 1000 * second);
      expect(blockOf(strike())).toBe(0);
    }
    clock.set(START + 11_500);
    // The second block is twice as long.
    expect(blockOf(strike())).toBe(2000);
  });

  test('forgives all strikes once the first of them is older than `within`', () => {
    const { clock, strike } = open();
    strike();
    clock.set(START + 9000);
    strike();
    clock.set(START + 10_000);
    expect(blockOf(strike())).toBe(0);
    strike();
    expect(blockOf(strike())).toBe(1000);
  });

  test('never replaces a stored time with an earlier time', () => {
    const params = strikes.params as PenaltyParams;
    const row = new Float64Array(4);
    for (let i = 0; i < 3; i++) penaltyAlgorithm.take(params, row, 0, START, 1);
    const until = row[2];
    // This is less than TIME_EPSILON before the end of the block, so the take is allowed.
    penaltyAlgorithm.take(params, row, 0, until - TIME_EPSILON / 2, 1);
    expect([...row]).toEqual([1, until, until, params.block]);
  });
});
