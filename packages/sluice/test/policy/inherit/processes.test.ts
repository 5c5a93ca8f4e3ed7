/**
 * Simulates a rolling deploy. Two processes, one with the old limit and one with the new, check the same keys on a real Redis.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Blow, type Damage, type Hammer, hammer } from '../../stores/redis/hammer.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';

const ROUNDS = 50;
const LANES = 32;
/** The number of checks is above both limits, so that both processes are denied in the end. */
const CHECKS = 256;
const BEFORE = 100;
const AFTER = 200;

let server: Server;
let hammers: Hammer[] = [];

beforeAll(async () => {
  server = await redisServer();
  hammers = await Promise.all([hammer(server.port, 'ioredis'), hammer(server.port, 'node-redis')]);
}, 60_000);

afterAll(async () => {
  await Promise.all(hammers.map((one) => one.stop()));
  await server.stop();
});

async function round(
  policies: Blow['policies'],
  inherit: Blow['inherit'],
  key: string,
): Promise<[before: number, after: number]> {
  const name = `${policies} ${inherit}`;
  const damages = await Promise.all(
    [BEFORE, AFTER].map((limit, i) =>
      hammers[i].strike({ policies, limit, name, inherit, key, lanes: LANES, checks: CHECKS }),
    ),
  );
  return damages.map(({ admitted }: Damage) => admitted) as [number, number];
}

/** Returns what each process admitted in each round. Fails if they never both admitted in the same round. */
async function rounds(policies: Blow['policies'], inherit: Blow['inherit']): Promise<[number, number][]> {
  const all: [number, number][] = [];
  for (let i = 0; i < ROUNDS; i++) all.push(await round(policies, inherit, `round ${i}`));
  expect(all.some(([before, after]) => before > 0 && after > 0)).toBe(true);
  return all;
}

const KINDS = ['gcra', 'fixedWindow', 'slidingWindow', 'two policies'] as const;

test.each(KINDS)(
  `additive with %s: two processes admit exactly the higher limit in total, and neither admits more than its own limit, in ${ROUNDS} rounds`,
  async (policies) => {
    for (const [before, after] of await rounds(policies, 'additive')) {
      expect(before + after).toBe(AFTER);
      expect(before).toBeLessThanOrEqual(BEFORE);
    }
  },
  60_000,
);

test.each(KINDS)(
  `proportional with %s: two processes admit fractions of their limits that add up to exactly 1, in ${ROUNDS} rounds`,
  async (policies) => {
    for (const [before, after] of await rounds(policies, 'proportional'))
      expect((AFTER / BEFORE) * before + after).toBe(AFTER);
  },
  60_000,
);

test.each(KINDS)(
  `as-is with %s: neither process admits more than its own limit, and together they admit no more than the higher limit, in ${ROUNDS} rounds`,
  async (policies) => {
    for (const [before, after] of await rounds(policies, 'as-is')) {
      expect(before).toBeLessThanOrEqual(BEFORE);
      expect(before + after).toBeLessThanOrEqual(AFTER);
      expect(before + after).toBeGreaterThanOrEqual(BEFORE);
    }
  },
  60_000,
);

test(`with inherit 'reset', the old and the new version each admit exactly their own limit, in ${ROUNDS} rounds`, async () => {
  for (const admitted of await rounds('gcra', 'reset')) expect(admitted).toEqual([BEFORE, AFTER]);
}, 60_000);

test(`without inherit, a window keeps the number of used units, and gcra keeps the used fraction of the limit, in ${ROUNDS} rounds`, async () => {
  for (const [before, after] of await rounds('fixedWindow', undefined)) expect(before + after).toBe(AFTER);
  for (const [before, after] of await rounds('gcra', undefined))
    expect((AFTER / BEFORE) * before + after).toBe(AFTER);
}, 60_000);
