/** Unit tests of the parts of `resilient` that decide what is given back. */
import { systemClock } from '../../../src/internal/clock.ts';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  type Policies,
  slidingLog,
  type Store,
  StoreUnavailable,
} from '../../../src/index.ts';
import type { Hit } from '../../../src/store.ts';
import { StoreError } from '../../../src/internal/errors.ts';
import { type PendingReturn, pendingReturns } from '../../../src/wrappers/resilient/pending-returns.ts';
import { HeldPlaces, Resets, rowIdOf } from '../../../src/wrappers/resilient/held-places.ts';
import { hitsToUndo } from '../../../src/wrappers/resilient/late-charge.ts';
import { isUnapplied } from '../../../src/wrappers/resilient/unapplied.ts';
import { memory } from '../../../src/stores/memory/memory.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A hit with these policies, and the store's decision on it. */
function charged(policies: Policies, cost = 1): [Hit, Decision] {
  const rows = memory();
  let seen: [Hit, Decision] | undefined;
  const store: Store<Decision> = {
    clock: rows.clock,
    apply(hit) {
      const decision = rows.apply(hit);
      seen = [hit, decision];
      return decision;
    },
    close: () => {},
  };
  createLimiter(policies, { store, name: 'api' }).take('a', cost);
  return seen as [Hit, Decision];
}

describe('a late charge', () => {
  const NOW = 1_000_000;
  const undone = (policies: Policies, late: number, keepsRates = false, cost = 1) =>
    hitsToUndo(...charged(policies, cost), NOW - late, NOW, keepsRates).map(({ verb, cost }) => [verb, cost]);

  test('is undone by a release if it holds a place', () => {
    expect(undone(concurrency({ limit: 5, lease: '1m' }), 500)).toEqual([['release', 1]]);
    expect(undone(concurrency({ limit: 5, lease: '1m' }), 500, true)).toEqual([['release', 1]]);
  });

  test('is undone by a refund while a window or a sliding log still counts it', () => {
    expect(undone(fixedWindow({ limit: 5, per: '1d', align: 'first' }), 500, false, 3)).toEqual([
      ['refund', 3],
    ]);
    expect(undone(fixedWindow({ limit: 5, per: '1s', align: 'first' }), 500)).toEqual([]);
    expect(undone(slidingLog({ limit: 5, per: '1m' }), 500)).toEqual([['refund', 1]]);
    expect(undone(slidingLog({ limit: 5, per: '1m' }), 60_000)).toEqual([]);
  });

  test('is undone except for units that a bucket has replenished since', () => {
    expect(undone(gcra({ limit: 100, per: '1s' }), 500)).toEqual([]);
    // 0.5 s and the second that the refund may take, at 2 units per second.
    expect(undone(gcra({ limit: 100, per: '50s' }), 500, false, 8)).toEqual([['refund', 5]]);
    expect(undone(leakyBucket({ size: 10, dripSize: 1, dripRate: 1000 }), 500, false, 5)).toEqual([
      ['refund', 3],
    ]);
  });

  test('is not undone if it is unknown how much was replenished', () => {
    expect(undone(minInterval({ every: '1m' }), 500)).toEqual([]);
  });

  test('is undone by a refund and a release that add up to the charge, if places are combined with a bucket', () => {
    const both = { rate: gcra({ limit: 100, per: '50s' }), slots: concurrency({ limit: 10, lease: '1m' }) };
    expect(undone(both, 500, false, 8)).toEqual([
      ['refund', 5],
      ['release', 3],
    ]);
    expect(undone(both, 60_000, false, 8)).toEqual([['release', 8]]);
    expect(undone(both, 500, true, 8)).toEqual([['release', 8]]);
    const window = fixedWindow({ limit: 100, per: '1d', align: 'first' });
    expect(undone({ ...both, rate: window }, 500, false, 8)).toEqual([['refund', 8]]);
  });
});

describe('an error', () => {
  const connecting = Object.assign(new Error(''), { code: 'ECONNREFUSED', syscall: 'connect' });
  const noSocket = Object.assign(new Error(''), { code: 'ENOENT', syscall: 'connect' });
  const noFile = Object.assign(new Error(''), { code: 'ENOENT', syscall: 'open' });
  const cut = Object.assign(new Error(''), { code: 'ECONNRESET', syscall: 'connect' });
  const caused = (depth: number): Error =>
    depth === 0 ? connecting : new Error('', { cause: caused(depth - 1) });
  test.each([
    new StoreUnavailable('deadline'),
    new StoreUnavailable('overloaded'),
    new StoreUnavailable('read-only'),
    new StoreUnavailable('connection', connecting),
    new AggregateError([connecting, connecting]),
    noSocket,
    caused(3),
    new Error('connect ECONNREFUSED 127.0.0.1:6379'),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    new Error('The client is offline'),
    new Error('READONLY You can’t write against a read only replica.'),
    new Error('LOADING Redis is loading the dataset in memory'),
    new Error('-BUSY Redis is busy running a script.'),
    new StoreError('OOM command not allowed when used memory > maxmemory'),
  ])('proves that a hit was not applied: %o', (error) => {
    expect(isUnapplied(error)).toBe(true);
  });

  test.each([
    new StoreUnavailable('connection', new Error('Connection is closed.')),
    new Error('Connection is closed.'),
    new Error('read ECONNRESET'),
    new Error('Socket closed unexpectedly'),
    new Error('Reached the max retries per request limit (which is 0).'),
    new StoreError('connection closed'),
    new StoreError('the store is not available (deadline)'),
    new AggregateError([connecting, new Error('read ECONNRESET')]),
    new AggregateError([]),
    new AggregateError([caused(3)]),
    noFile,
    cut,
    caused(4),
    new Error('ERR the script failed with READONLY replica'),
    new Error('closed: The client is offline'),
    'READONLY as a string',
    undefined,
  ])('does not prove whether a hit was applied: %o', (error) => {
    expect(isUnapplied(error)).toBe(false);
  });
});

describe('the record of held places', () => {
  const plan = charged(concurrency({ limit: 5, lease: '50ms' }))[0].plan;
  const hit = (key: string, cost = 1): Hit => ({
    verb: 'take',
    plan,
    key,
    cost,
    mode: 'whole',
    span: 0,
  });

  test('removes the oldest places first, and only places that were recorded', () => {
    const holds = new HeldPlaces();
    const now = systemClock.now();
    holds.add(hit('a'), now, 1, false);
    holds.add(hit('a'), now + 10, 2, false);
    expect(holds.remove(hit('b'), false)).toBeUndefined();
    expect(holds.remove(hit('a', 0), false)).toBeUndefined();
    expect(holds.hasFallback(hit('a', 0))).toBe(false);
    expect(holds.remove(hit('a'), true)).toBeUndefined();
    expect(holds.remove(hit('a'), false)).toBeCloseTo(now + 49.95);
    expect(holds.remove(hit('a', 2), false)).toBeCloseTo(now + 59.95);
    expect(holds.remove(hit('a'), false)).toBeUndefined();
    expect(holds.size).toBe(0);
  });

  test('can remove part of what a hit holds, and keeps places in the store separate from places in the fallback', () => {
    const holds = new HeldPlaces();
    const now = systemClock.now();
    holds.add(hit('a'), now, 3, false);
    holds.add(hit('a'), now, 1, false);
    holds.add(hit('a'), now, 1, true);
    expect(holds.hasFallback(hit('a', 2))).toBe(false);
    expect(holds.hasFallback(hit('a'))).toBe(true);
    for (const cost of [1, 2, 1]) expect(holds.remove(hit('a', cost), false)).toBeCloseTo(now + 49.95);
    expect(holds.remove(hit('a'), false)).toBeUndefined();
    expect(holds.hasFallback(hit('a'))).toBe(true);
    expect(holds.remove(hit('a'), true)).toBeCloseTo(now + 49.95);
    expect(holds.hasFallback(hit('a'))).toBe(false);
    expect(holds.size).toBe(0);
  });

  test('forgets a row that was reset, and all rows when the store closes', () => {
    const holds = new HeldPlaces();
    for (const key of ['a', 'b', 'c']) holds.add(hit(key), systemClock.now(), 1, false);
    holds.forget(hit('a'));
    holds.forget(hit('unknown'));
    expect(holds.size).toBe(2);
    expect(holds.remove(hit('a'), false)).toBeUndefined();
    holds.clear();
    expect(holds.size).toBe(0);
    expect(holds.remove(hit('b'), false)).toBeUndefined();
  });

  test('has at most 100,000 rows, and none for keys longer than 1,024 characters', () => {
    const holds = new HeldPlaces();
    holds.add(hit('x'.repeat(1025)), systemClock.now(), 1, false);
    expect(holds.size).toBe(0);
    for (let i = 0; i <= 100_000; i++) holds.add(hit(`key ${i}`), systemClock.now(), 1, false);
    expect(holds.size).toBe(100_000);
  });

  test('drops all rows whose leases have ended', async () => {
    const holds = new HeldPlaces();
    for (let i = 0; i < 3000; i++) holds.add(hit(`key ${i}`), systemClock.now(), 1, false);
    await vi.advanceTimersByTimeAsync(60);
    expect(holds.size).toBeGreaterThan(1000);
    for (let i = 0; i < 3010; i++) holds.add(hit('another'), systemClock.now(), 1, false);
    expect(holds.size).toBe(1);
  });
});

test('the record of resets is bounded, and after it has dropped a reset, it treats every row as reset at that time', () => {
  const resets = new Resets();
  const start = systemClock.now();
  for (let i = 0; i < 1001; i++) resets.add(`row ${i}`);
  expect(resets.since('row 1000', start)).toBe(true);
  expect(resets.since('row 0', start - 1)).toBe(true);
  expect(resets.since('another', start - 1)).toBe(true);
  expect(resets.since('another', systemClock.now() + 1)).toBe(false);
});

test('pending refunds and releases are limited in number, retried until they would be too late, and dropped when the store closes', async () => {
  const [hit] = charged(concurrency({ limit: 5, lease: 60_000 }));
  let tries = 0;
  const pending = pendingReturns(() => {
    tries++;
    return false;
  });
  const pendingUntil = (ends: number): PendingReturn => ({
    id: rowIdOf(hit),
    hit,
    until: ends,
    due: (now) => (now < ends ? [hit] : []),
    released: 1,
  });
  for (let i = 0; i < 10_001; i++) pending.add(pendingUntil(systemClock.now() + 150));
  expect(pending.size).toBe(10_000);
  await vi.advanceTimersByTimeAsync(99);
  expect(tries).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(tries).toBe(10_000);
  await vi.advanceTimersByTimeAsync(100);
  expect(tries).toBe(10_000);
  expect(pending.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  pending.add(pendingUntil(Infinity));
  pending.close();
  expect(pending.size).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
  pending.add(pendingUntil(Infinity));
  expect(pending.size).toBe(0);
});

test('a pending release is found by its row and the number of its places', () => {
  const [hit] = charged(concurrency({ limit: 5, lease: 60_000 }));
  const pending = pendingReturns(() => false);
  const release = (id: string, released?: number): PendingReturn => ({
    id,
    hit,
    until: 0,
    due: () => [hit],
    released,
  });
  const [one, two, other] = [release('a', 1), release('a', 2), release('b', 1)];
  for (const each of [release('a'), two, other, one]) pending.add(each);
  expect(pending.removeRelease('a', 1)).toBe(one);
  expect(pending.removeRelease('a', 1)).toBeUndefined();
  expect(pending.removeRelease('a', 2)).toBe(two);
  expect(pending.size).toBe(2);
  pending.close();
});
