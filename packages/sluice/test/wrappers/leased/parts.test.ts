/** Unit tests of the parts of `leased`: terms, held leases, demand and forecast. */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Decision, fixedWindow, gcra, type Policies, slidingLog } from '../../../src/index.ts';
import { Demand } from '../../../src/wrappers/leased/demand.ts';
import { Forecast } from '../../../src/wrappers/leased/forecast.ts';
import { HeldLeases } from '../../../src/wrappers/leased/held-leases.ts';
import type { Lease } from '../../../src/wrappers/leased/lease.ts';
import { type Terms, termsOf } from '../../../src/wrappers/leased/terms.ts';
import { planSent } from './asked.ts';

const BUCKET = gcra({ limit: 100, per: '1s', burst: 1000 });
const DAY = fixedWindow({ limit: 1000, per: '1d', align: 'first' });
const LOG = slidingLog({ limit: 10_000, per: '1m' });
const NODES = 8;

function terms(policies: Policies, longest = 5000): Terms {
  return termsOf(planSent(policies), longest, NODES) as Terms;
}

describe('lease terms', () => {
  test('of a window allow renewable leases of five seconds, and costs up to the whole limit', () => {
    const day = terms(DAY);
    expect(day).toMatchObject({
      duration: 5000,
      bindingDuration: 5000,
      window: 86_400_000,
      hasLongWindow: true,
      largestCost: 1000,
      remainingDivisor: 16,
      minBatch: 10,
      fill: 1.1,
      lightDemand: Infinity,
      minDuration: 0,
      isRenewable: true,
      hasWindows: true,
    });
    expect(day.longPlan).toBe(day.plan);
  });

  test('of a bucket allow leases of 2.5 seconds that cannot be renewed, and costs up to the reduced burst', () => {
    const bucket = terms(BUCKET);
    expect(bucket).toMatchObject({
      duration: 2500,
      bindingDuration: 1000,
      window: 10_000,
      hasLongWindow: false,
      largestCost: 875,
      remainingDivisor: 2,
      minBatch: 10,
      fill: 0.9,
      lightDemand: Infinity,
      minDuration: 1000,
      isRenewable: false,
      hasWindows: false,
    });
    expect(bucket.longPlan).toBe(bucket.plan);
  });

  test('of a sliding log allow leases of five seconds that cannot be renewed, and make the log count units for 2.4 seconds longer', () => {
    const log = terms(LOG);
    expect(log).toMatchObject({
      duration: 5000,
      bindingDuration: 2400,
      window: 60_000,
      hasLongWindow: true,
      largestCost: 10_000,
      remainingDivisor: 16,
      // One and a half times an even share, which is 50 units.
      minBatch: 75,
      fill: 1.1,
      minDuration: 2400,
      isRenewable: false,
      hasWindows: false,
    });
    expect(log.lightDemand).toBeCloseTo((2 / 3) * (10_000 / 12 / 8));
    expect(log.plan.policies[0].params).toMatchObject({ per: 62_400, step: 0 });
    expect(log.longPlan.policies[0].params).toMatchObject({ per: 62_400, step: 5000 });
    expect(log.longPlan.id).not.toBe(log.plan.id);
  });

  test('of several policies take each term from the strictest policy', () => {
    expect(terms({ day: DAY, rate: BUCKET })).toMatchObject({
      duration: 2500,
      bindingDuration: 1000,
      window: 86_400_000,
      largestCost: 875,
      remainingDivisor: 16,
      fill: 0.8,
      minDuration: 0,
      isRenewable: false,
      hasWindows: true,
    });
    expect(terms({ log: LOG, rate: BUCKET })).toMatchObject({ fill: 0.9, remainingDivisor: 16 });
    expect(terms({ log: LOG, day: DAY })).toMatchObject({ fill: 0.8, minBatch: 10, isRenewable: false });
    const slower = slidingLog({ limit: 10_000, per: '2m' });
    expect(terms({ log: LOG, slower }).lightDemand).toBe(terms(slower).lightDemand);
    const { plan, longPlan } = terms({ log: LOG, rate: BUCKET });
    expect(longPlan.policies[1].params).toEqual(plan.policies[1].params);
  });

  test('are undefined if a lease would be shorter than 20 ms, or if a node’s part of the limit would be smaller than 20 units', () => {
    expect(termsOf(planSent(gcra({ limit: 1000, per: '200ms' })), 5000, NODES)).toBeDefined();
    expect(termsOf(planSent(gcra({ limit: 1000, per: '199ms' })), 5000, NODES)).toBeUndefined();
    expect(termsOf(planSent(fixedWindow({ limit: 160, per: '1d' })), 5000, NODES)).toBeDefined();
    expect(termsOf(planSent(fixedWindow({ limit: 159, per: '1d' })), 5000, NODES)).toBeUndefined();
  });

  const granted = (taken: number, ...resetAfter: number[]): Decision =>
    ({ taken, policies: resetAfter.map((each) => ({ resetAfter: each })) }) as unknown as Decision;

  test('let a lease end when its units expire in a window or a sliding log, or after the maximum duration', () => {
    const short = terms(DAY).leaseFrom(granted(100, 3000), 1000);
    expect(short).toMatchObject({ left: 100, granted: 100, askedAt: 1000, unitsPerMs: Number.MAX_VALUE });
    expect([short.end, short.windowEnd, short.countedUntil]).toEqual([3997, 3997, 3997]);
    const long = terms(DAY).leaseFrom(granted(100, 1_000_000), 1000);
    expect([long.end, long.windowEnd, long.countedUntil]).toEqual([5995, 1_000_000, 1_000_000]);
    const log = terms(LOG).leaseFrom(granted(100, 62_000), 1000);
    expect([log.end, log.windowEnd, log.countedUntil]).toEqual([2998, 2998, 62_938]);
    const both = terms({ log: LOG, day: DAY }).leaseFrom(granted(100, 62_000, 50_000), 1000);
    expect([both.end, both.countedUntil]).toEqual([2998, 50_950]);
    const bucket = terms(BUCKET).leaseFrom(granted(999, 5000), 1000);
    expect([bucket.end, bucket.windowEnd, bucket.countedUntil]).toEqual([3497.5, Infinity, Infinity]);
    expect(bucket.unitsPerMs).toBeCloseTo(0.4);
  });

  test('let units be returned while the store still counts them, less the units that a bucket replenishes in the meantime', () => {
    const lease = { left: 500, granted: 500, askedAt: 0, end: 5000, unitsPerMs: 1, windowEnd: 5000 };
    const day = terms(DAY);
    expect(day.returnable({ ...lease, countedUntil: 1501 }, 500)).toBe(500);
    expect(day.returnable({ ...lease, countedUntil: 1500 }, 500)).toBe(0);
    const bucket = terms(BUCKET);
    // The lease is half a second old, and a return may take a second. The bucket replenishes 150 units in this time.
    expect(bucket.returnable({ ...lease, countedUntil: Infinity }, 500)).toBe(350);
    expect(bucket.returnable({ ...lease, left: 100.5, countedUntil: Infinity }, 0)).toBe(0);
    expect(bucket.returnable({ ...lease, left: 50, countedUntil: Infinity }, 0)).toBe(0);
  });
});

describe('held leases', () => {
  let ended: [left: number, now: number][];
  beforeEach(() => {
    ended = [];
  });
  const held = (isRenewable: boolean): HeldLeases =>
    new HeldLeases(isRenewable, ({ left }, now) => ended.push([left, now]));
  const lease = (left: number, end: number, more: Partial<Lease> = {}): Lease => ({
    left,
    granted: left,
    askedAt: 0,
    end,
    unitsPerMs: Number.MAX_VALUE,
    windowEnd: end,
    countedUntil: end,
    ...more,
  });

  test('are spent in the order in which they were granted', () => {
    const leases = held(false);
    expect([leases.units(0), leases.covers(1, 0), leases.hasNext]).toEqual([0, false, false]);
    leases.add(lease(10, 100), 0);
    leases.add(lease(20, 200), 0);
    expect([leases.units(0), leases.hasNext, leases.all().length]).toEqual([30, true, 2]);
    expect([leases.currentCovers(10, 0), leases.currentCovers(11, 0)]).toEqual([true, false]);
    expect([leases.covers(30, 0), leases.covers(31, 0)]).toEqual([true, false]);
    expect(leases.spend(4, 0)).toBe(6);
    expect(leases.spend(8, 0)).toBe(18);
    expect([leases.units(0), leases.hasNext, leases.all().length]).toEqual([18, false, 1]);
    expect(ended).toEqual([]);
  });

  test('are not spent after they expire, and expired ones are reported when a hit is checked against the leases', () => {
    const leases = held(false);
    leases.add(lease(10, 100), 0);
    leases.add(lease(20, 200), 0);
    expect([leases.covers(21, 99), leases.covers(21, 100), leases.covers(20, 100)]).toEqual([
      true,
      false,
      true,
    ]);
    expect(ended).toEqual([
      [10, 100],
      [10, 100],
    ]);
    expect(leases.spend(5, 100)).toBe(15);
    expect([leases.covers(1, 199), leases.covers(1, 200)]).toEqual([true, false]);
    expect(leases.units(200)).toBe(0);
  });

  test('that were fetched ahead and have expired are removed', () => {
    const leases = held(false);
    leases.add(lease(10, 100), 0);
    leases.add(lease(20, 200), 0);
    leases.endExpired(199);
    expect(leases.hasNext).toBe(true);
    leases.endExpired(200);
    expect(leases.hasNext).toBe(false);
    expect(ended).toEqual([
      [10, 199],
      [10, 200],
      [20, 200],
    ]);
  });

  test('that were fetched ahead and have faded are removed', () => {
    const leases = held(false);
    leases.add(lease(10, 100, { unitsPerMs: 0.1 }), 0);
    leases.add(lease(10, 200, { unitsPerMs: 0.05 }), 0);
    expect([leases.covers(9, 100), leases.hasNext]).toEqual([false, true]);
    expect([leases.covers(2, 180), leases.hasNext]).toEqual([false, true]);
    expect([leases.covers(2, 181), leases.hasNext]).toEqual([false, false]);
  });

  test('accept refunded units until they expire, up to the number that was granted', () => {
    const leases = held(false);
    expect(leases.refund(1, 0)).toBe(false);
    leases.add(lease(10, 100), 0);
    leases.spend(4, 0);
    expect([leases.refund(5, 0), leases.refund(4, 100), leases.refund(4, 99)]).toEqual([false, false, true]);
    expect(leases.units(99)).toBe(10);
  });

  test('pass unused units on to the next lease in the same window', () => {
    const leases = held(true);
    leases.add(lease(10, 100, { windowEnd: 500 }), 0);
    leases.endExpired(100);
    leases.add(lease(20, 250, { windowEnd: 500 }), 150);
    expect(leases.units(150)).toBe(30);
    expect(leases.refund(1, 150)).toBe(false);
    expect(ended).toEqual([]);
    leases.add(lease(5, 900, { windowEnd: 900 }), 500);
    expect(leases.units(500)).toBe(5);
    expect(ended).toEqual([[30, 500]]);
  });

  test('that are used up or have expired are replaced by the next lease', () => {
    const leases = held(false);
    leases.add(lease(10, 100), 0);
    leases.spend(10, 0);
    leases.add(lease(20, 200), 50);
    expect([leases.hasNext, leases.units(50)]).toEqual([false, 20]);
    leases.add(lease(30, 300), 200);
    expect([leases.hasNext, leases.units(200)]).toEqual([false, 30]);
    expect(ended).toEqual([
      [0, 50],
      [20, 200],
    ]);
    leases.clear();
    expect([leases.units(200), leases.all()]).toEqual([0, []]);
  });
});

describe('demand', () => {
  test('is an average of the units per lease, in which older units have less weight', () => {
    const demand = new Demand(1000, 0);
    demand.arrived = 100;
    expect(demand.total).toBe(100);
    expect(demand.reaches(63, 1000)).toBe(true);
    expect(demand.within(1000)).toBeCloseTo(100);
    expect(demand.within(500)).toBeCloseTo(50);
    demand.arrived = 20;
    expect(demand.reaches(64, 2000)).toBe(false);
    expect(demand.total).toBe(120);
    // (63.2 / e + 20 · 63.2 %) / 86.5 %
    expect(demand.within(1000)).toBeCloseTo(41.5, 1);
  });

  test('is extrapolated by at most a factor of three while the observed time is short', () => {
    const demand = new Demand(1000, 0);
    demand.arrived = 10;
    demand.reaches(0, 10);
    expect(demand.within(1000)).toBeCloseTo(30, 0);
  });

  test('is reported to stay below a rate only after it was observed for a while', () => {
    const demand = new Demand(1000, 0);
    demand.arrived = 10;
    demand.reaches(0, 300);
    expect(demand.staysBelow(1000)).toBe(false);
    demand.arrived = 10;
    demand.reaches(0, 1000);
    expect([demand.staysBelow(18), demand.staysBelow(19)]).toEqual([false, true]);
  });
});

describe('the forecast', () => {
  const asked = (forecast: Forecast, units: number, now: number): Forecast => {
    forecast.demand.arrived = units;
    forecast.demand.reaches(0, now);
    return forecast;
  };

  test('treats the limit as binding while less than an eighth of it is left, and for one window afterwards', () => {
    const forecast = new Forecast(terms(BUCKET), 0);
    expect([undefined, 110, 109].map((left) => forecast.isBinding(left, 0))).toEqual([false, false, true]);
    forecast.fellShort(0);
    expect([forecast.isBinding(875, 9999), forecast.isBinding(875, 10_000)]).toEqual([true, false]);
  });

  test('treats the limit of a sliding log as binding unless demand is light', () => {
    const log = terms(LOG);
    expect(new Forecast(log, 0).isBinding(10_000, 0)).toBe(true);
    expect(asked(new Forecast(log, 0), 60, 5000).isBinding(10_000, 5000)).toBe(false);
    expect(asked(new Forecast(log, 0), 80, 5000).isBinding(10_000, 5000)).toBe(true);
  });

  test('sizes a batch by demand, by the units left in the store and by the hit that waits', () => {
    const forecast = asked(new Forecast(terms(BUCKET), 0), 100, 2500);
    // The batch is nine tenths of 100 units or, while the limit is binding, eight tenths of 40 units.
    expect(forecast.batchFor(1, false, 875, 2500)).toBe(90);
    expect(forecast.batchFor(1, true, 875, 2500)).toBe(32);
    expect(forecast.batchFor(1, false, 100, 2500)).toBe(50);
    expect(forecast.batchFor(1, false, 10, 2500)).toBe(10);
    expect(forecast.batchFor(1, false, 0, 2500)).toBe(90);
    expect(forecast.batchFor(1, false, undefined, 2500)).toBe(90);
    expect(forecast.batchFor(100, false, 875, 2500)).toBe(125);
  });

  test('assumes that a lease lasts at most until the window of the previous lease ends', () => {
    const forecast = asked(new Forecast(terms(DAY), 0), 1000, 5000);
    expect(forecast.batchFor(1, false, 100_000, 5000)).toBe(250);
    const window = { windowEnd: 6000 } as Lease;
    forecast.granted(window);
    // The window ends after a fifth of a lease’s duration. A lease of a day’s window is also limited to a quarter of all demand.
    expect(forecast.batchFor(1, false, 100_000, 5000)).toBeCloseTo(220, -1);
    expect(forecast.batchFor(1, false, 100_000, 5999)).toBe(2);
    expect(forecast.batchFor(1, false, 100_000, 6000)).toBe(250);
  });
});
