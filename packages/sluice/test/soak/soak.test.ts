/**
 * Mixed load on stores while their servers, processes and networks fail. Twelve seconds of it with all other tests;
 * `npm run soak` is ten minutes, `npm run soak -- --for 1h --seed 7` as long and as random as one likes.
 */
import { expect, test } from 'vitest';
import { duration } from '../../src/internal/duration.ts';
import { soak } from './soak.ts';
import { summary } from './tally.ts';

const SPAN = duration('--for', process.env['SLUICE_SOAK_FOR'] ?? '12s');
/** `npm run soak` draws one; here it is the same each time. */
const SEED = Number(process.env['SLUICE_SOAK_SEED'] ?? 7);
const isAlone = process.env['SLUICE_SOAK_FOR'] !== undefined;

test(`nothing is wrong after ${SPAN / 1000} s in trouble, seed ${SEED}`, {
  timeout: SPAN + 120_000,
}, async () => {
  const print = isAlone ? (line: string) => void process.stdout.write(`${line}\n`) : () => {};
  const verdict = await soak({ span: SPAN, seed: SEED, every: 5000, print });
  print(summary(verdict));
  expect(verdict.wrong).toEqual([]);
  // In a long one, each kind of fault was there.
  if (SPAN > 120_000)
    for (const [store, counts] of Object.entries(verdict.faults))
      expect(Object.keys(counts), store).toHaveLength(KINDS[store]);
  // A leak of a hundred bytes a check would be hundreds of megabytes.
  expect(verdict.memory.heap.growth).toBeLessThan(10e6);
  // What is resident goes up and down by a hundred megabytes: the collector gives back late.
  expect(verdict.memory.resident.growth).toBeLessThan(200e6);
  expect(verdict.memory.server.growth).toBeLessThan(80e6);
});

/** Kinds of faults. */
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
