import { expect, test } from 'vitest';
import { Ledger, type Instant, steadily } from './ledger.ts';

const OPTIONS = { burst: 10, rate: 0.1 };

/** A ledger with one unit every `gap` milliseconds, each decided immediately. `clock` converts to the machine's time. */
function ledgerOf(units: number, gap: number, clock = (time: number): number => time): Ledger {
  const ledger = new Ledger(OPTIONS);
  for (let i = 0; i < units; i++) {
    const at: Instant = { steady: i * gap, machine: clock(i * gap) };
    ledger.add(at, at, 1);
  }
  return ledger;
}

test('the ledger accepts units up to the bound, and reports an excess of one if one more unit is admitted', () => {
  // The bound allows a burst of ten units, and one more unit every ten milliseconds.
  const allowed = (more: number): Ledger => {
    const ledger = ledgerOf(0, 0);
    for (let i = 0; i < 10 + more; i++) ledger.add(steadily(0), steadily(0), 1);
    for (let i = 1; i < 50; i++) ledger.add(steadily(10 * i), steadily(10 * i), 1);
    return ledger;
  };
  expect(allowed(0).excess()).toBe(0);
  expect(allowed(1).excess()).toBeCloseTo(1, 6);
});

test('the ledger detects a rate that is slightly too high over a long time', () => {
  expect(ledgerOf(500, 9.9).excess()).toBe(0);
  expect(ledgerOf(500, 9).excess()).toBeCloseTo(500 - 10 - 0.1 * 9 * 499, 6);
});

test('the ledger does not report an excess just because the clock was set forward or back', () => {
  // Records a burst and, after 50 ms, the units replenished by the server's clock, which was set in between.
  const passed = (set: number, machine: number): number => {
    const ledger = new Ledger(OPTIONS);
    ledger.add(steadily(0), steadily(0), 10);
    const at = { steady: 50, machine };
    ledger.add(at, at, (50 + set) * OPTIONS.rate);
    return ledger.excess();
  };
  expect(passed(0, 50)).toBe(0);
  expect(passed(14, 64)).toBe(0);
  expect(passed(-14, 36)).toBe(0);
  expect(passed(14, 50)).toBeCloseTo(1.4, 6);
  // The clock was set back while a check was in flight, so the decision may have been made before or after the change.
  const back = new Ledger(OPTIONS);
  back.add({ steady: 0, machine: 0 }, { steady: 100, machine: -14 }, 20);
  expect(back.excess()).toBe(0);
});

test('the ledger accepts another burst after the store lost its rows, but not at other times', () => {
  const twice = (): Ledger => {
    const ledger = new Ledger({ ...OPTIONS, kept: 5 });
    for (const time of [0, 40])
      for (let i = 0; i < 10; i++) ledger.add(steadily(time), steadily(time + 1), 1);
    return ledger;
  };
  expect(twice().excess()).toBeGreaterThan(5);
  expect(twice().excess([{ from: 10, to: 30 }])).toBe(0);
  expect(twice().excess([{ from: 60, to: 70 }])).toBeGreaterThan(5);
  // Checks made while nodes may still spend leases from before the loss are ignored.
  const held = twice();
  for (let i = 0; i < 10; i++) held.add(steadily(33), steadily(34), 1);
  expect(held.excess([{ from: 10, to: 30 }])).toBe(0);
});

test('the ledger accepts that refunded units are admitted once more, but only once', () => {
  const again = (units: number): number => {
    const ledger = new Ledger(OPTIONS);
    ledger.add(steadily(0), steadily(1), 10);
    ledger.giveBack(2, 3, 4);
    ledger.add(steadily(4), steadily(5), units);
    return ledger.excess();
  };
  expect(again(4)).toBe(0);
  expect(again(6)).toBeCloseTo(1.5, 6);
  // A refund long before the window does not count for it.
  const later = new Ledger(OPTIONS);
  later.giveBack(0, 1, 4);
  later.add(steadily(100), steadily(100), 14);
  expect(later.excess()).toBeCloseTo(4, 6);
  // A refund that may still be in flight counts.
  const late = new Ledger(OPTIONS);
  late.giveBack(0, 200, 4);
  late.add(steadily(100), steadily(100), 14);
  expect(late.excess()).toBe(0);
});

test('the ledger reports no excess if the deciding node could not know about some of the units', () => {
  const ledger = (unknown: number): Ledger => {
    const made = ledgerOf(0, 0);
    made.add(steadily(0), steadily(0), 10);
    made.add(steadily(0), steadily(0), 10, 0, 10);
    made.add(steadily(1), steadily(1), 1, 0, unknown);
    return made;
  };
  expect(ledger(11).excess()).toBe(0);
  expect(ledger(0).excess()).toBeCloseTo(10.9, 6);
});

test('the ledger does not count a reservation from before the store lost its rows', () => {
  const ledger = new Ledger(OPTIONS);
  ledger.add(steadily(0), steadily(1), 5, 50);
  ledger.add(steadily(40), steadily(41), 10, 0);
  expect(ledger.excess([{ from: 10, to: 30 }])).toBe(0);
});

test('the ledger applies a refund to units that are reported after the ledger was checked', () => {
  const ledger = new Ledger(OPTIONS);
  ledger.add(steadily(0), steadily(0), 10);
  ledger.giveBack(101, 102, 10);
  expect(ledger.excess()).toBe(0);
  // Another process reports late what it took before and after the refund.
  for (const time of [100, 103]) ledger.add(steadily(time), steadily(time), 10);
  expect(ledger.excess()).toBe(0);
  // A refund is kept only for a while.
  ledger.add(steadily(30_000), steadily(30_000), 1);
  expect(ledger.excess()).toBe(0);
  for (const time of [100, 103]) ledger.add(steadily(time), steadily(time), 10);
  expect(ledger.excess()).toBeCloseTo(9.7, 6);
});

test('the ledger does not check recent entries, because earlier refunds may not be known yet', () => {
  const passed = (options: { late?: number }): Ledger => {
    const ledger = new Ledger({ ...OPTIONS, ...options });
    for (const units of [10, 3]) ledger.add(steadily(0), steadily(0), units);
    return ledger;
  };
  expect(passed({}).excess([], 1999)).toBe(0);
  expect(passed({}).excess([], 2000)).toBe(3);
  expect(passed({ late: 0 }).excess([], 0)).toBe(3);
});
