/**
 * Mixed load on all stores while faults are injected into their servers, processes and networks. It runs for twelve seconds as
 * part of the test suite, and for ten minutes with `npm run soak`. `npm run soak -- --for 1h --seed 7` sets duration and seed.
 */
import { expect, test } from 'vitest';
import { duration } from '../../src/internal/duration.ts';
import { soak } from './soak.ts';
import { summary } from './tally.ts';

const DURATION = duration('--for', process.env['SLUICE_SOAK_FOR'] ?? '12s');
/** `npm run soak` chooses a random seed; here it is fixed. */
const SEED = Number(process.env['SLUICE_SOAK_SEED'] ?? 7);
const isAlone = process.env['SLUICE_SOAK_FOR'] !== undefined;

test(`all stores keep their limits during ${DURATION / 1000} s of injected faults with seed ${SEED}`, {
  timeout: DURATION + 120_000,
}, async () => {
  const print = isAlone ? (line: string) => void process.stdout.write(`${line}\n`) : () => {};
  const verdict = await soak({ span: DURATION, seed: SEED, every: 5000, print });
  print(summary(verdict));
  expect(verdict.violations).toEqual([]);
  // A long run has injected each kind of fault.
  if (DURATION > 120_000)
    for (const [store, counts] of Object.entries(verdict.faults))
      expect(Object.keys(counts), store).toHaveLength(KINDS[store]);
  // A leak of a hundred bytes per check would be hundreds of megabytes.
  expect(verdict.memory.heap.growth).toBeLessThan(10e6);
  // Resident memory varies by a hundred megabytes, because the collector returns it late.
  expect(verdict.memory.resident.growth).toBeLessThan(200e6);
  expect(verdict.memory.server.growth).toBeLessThan(80e6);
});

/** How many kinds of faults each store has. */
const KINDS: Readonly<Record<string, number>> = {
  memory: 1,
  redis: 8,
  valkey: 4,
  'redis cluster': 5,
  postgres: 9,
  memcached: 6,
  ipc: 3,
  'shared memory': 1,
  server: 4,
};
