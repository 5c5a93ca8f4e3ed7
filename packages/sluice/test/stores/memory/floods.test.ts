/** Floods of keys, which take seconds. */
import { expect, test } from 'vitest';
import { createLimiter, gcra, memory } from '../../../src/index.ts';
import { fingerprint, high, low } from '../../../src/stores/table/table.ts';
import { manualClock } from '../../../src/testing/index.ts';

const START = 1_700_000_000_000;

test('the memory store keeps 100,000 keys separate', () => {
  const clock = manualClock(START);
  const store = memory({ clock });
  const limiter = createLimiter(gcra({ limit: 2, per: '1h' }), { store });
  let passed = 0;
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 100_000; i++) if (limiter.take(`key ${i}`).allowed) passed++;
  }
  expect(passed).toBe(200_000);
  expect(store.size).toBe(100_000);
});

test('the memory store keeps a million keys by default, and evicts no denied or blocked key in a flood of 1.5 million keys', {
  timeout: 240_000,
}, () => {
  const store = memory();
  const limiter = createLimiter('5/h', { store });
  const victims = Array.from({ length: 1000 }, (_, i) => `victim ${i}`);
  for (const victim of victims) limiter.take(victim, 5);
  limiter.block('blocked', '1d');
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let i = 0; i < 1_500_000; i++) {
    limiter.take(`invented ${i}`);
    if (i % 50_000 === 0) most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  // The manual block has a row of its own.
  expect(store.size).toBe(1_000_001);
  // There are two generations of the table, and perhaps one that is not garbage-collected yet.
  expect(most).toBeLessThan(200 * 2 ** 20);
  for (const victim of victims) expect(limiter.take(victim).allowed).toBe(false);
  expect(limiter.take('blocked').policy).toBe('block');
});

test('the memory store keeps any number of keys with maxKeys: Infinity', { timeout: 60_000 }, () => {
  const store = memory({ clock: manualClock(START), maxKeys: Infinity });
  const limiter = createLimiter('5/h', { store });
  for (let i = 0; i < 1_000_500; i++) limiter.take(`key ${i}`);
  expect(store.size).toBe(1_000_500);
});

test('memory usage stays bounded in a flood of a million random keys with maxKeys: 100,000', {
  timeout: 60_000,
}, () => {
  const store = memory({ maxKeys: 100_000 });
  const limiter = createLimiter(gcra({ limit: 10, per: '1h' }), { store });
  limiter.take('blocked', 10);
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 1_000_000; i++) limiter.take(`flood ${i} ${i * 7919}`);
  expect(store.size).toBeLessThanOrEqual(100_000);
  // There are two generations of the table, and perhaps one that is not garbage-collected yet.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40e6);
  expect(limiter.take('blocked').allowed).toBe(false);
});

test('fingerprints spread a million similar keys evenly and without a collision', () => {
  const seed = Int32Array.of(1, 2);
  const seen = new Set<string>();
  const buckets = new Uint32Array(1024);
  for (let i = 0; i < 1_000_000; i++) {
    fingerprint(`user:${i}`, seed);
    seen.add(`${high}:${low}`);
    buckets[high >>> 22]++;
  }
  expect(seen.size).toBe(1_000_000);
  // 977 per bucket on average; the tolerance is six standard deviations.
  expect(Math.max(...buckets)).toBeLessThan(977 + 6 * 32);
  expect(Math.min(...buckets)).toBeGreaterThan(977 - 6 * 32);
});
