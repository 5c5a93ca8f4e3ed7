/**
 * Mixed load on all stores while their server and network fail. Twelve seconds of it with all other tests;
 * `npm run soak` is ten minutes, `npm run soak -- --for 1h --seed 7` as long and as random as one likes.
 */
import { expect, test } from 'vitest';
import { duration } from '../../src/duration.ts';
import { soak, summary } from './soak.ts';

const SPAN = duration('--for', process.env['SLUICE_SOAK_FOR'] ?? '12s');
/** `npm run soak` draws one; here it is the same each time. */
const SEED = Number(process.env['SLUICE_SOAK_SEED'] ?? 7);
const isAlone = process.env['SLUICE_SOAK_FOR'] !== undefined;

test(`nothing is wrong after ${SPAN / 1000} s in trouble, seed ${SEED}`, {
  timeout: SPAN + 60_000,
}, async () => {
  const print = isAlone ? (line: string) => void process.stdout.write(`${line}\n`) : () => {};
  const verdict = await soak({ span: SPAN, seed: SEED, every: 5000, print });
  print(summary(verdict));
  expect(verdict.wrong).toEqual([]);
  // Each scene was on stage, and so was the trouble.
  expect(Object.keys(verdict.checked).length).toBe(7);
  expect(Math.min(...Object.values(verdict.checked))).toBeGreaterThan(20);
  expect(Object.keys(verdict.faults).length).toBeGreaterThan(SPAN > 20_000 ? 7 : 2);
  // A leak of a hundred bytes a check would be hundreds of megabytes.
  expect(verdict.growth.heap).toBeLessThan(10e6);
  expect(verdict.growth.resident).toBeLessThan(80e6);
});
