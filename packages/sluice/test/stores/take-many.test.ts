/** Applies the same random takes from several keys to memory and to other stores that decide them in one step. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  type ManyItem,
  type MaybePromise,
  memory,
  type Store,
} from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { postgresServer } from 'sluice-test-support/postgres/server.ts';
import { random } from 'sluice-test-support/random.ts';
import { CASES } from '../support/policies.ts';
import { someGap } from './differential.ts';
import { socketPath } from './ipc/processes.ts';

const START = 1_700_000_000_000;

/** The limiters of a store: one for each case, and some with tiers that convert each other's rows. */
function limitersOn(store: Store, name: string) {
  const plain = Object.entries(CASES).map(([title, { policies }]) =>
    createLimiter(policies, { store, name: `${name} ${title}` }),
  );
  const tiered = (['additive', 'proportional', 'as-is'] as const).map((inherit) =>
    createLimiter(
      { rate: '6/s', day: '30/min fixed-window' },
      {
        store,
        name: `${name} ${inherit}`,
        inherit,
        tiers: { pro: { rate: '9/s', day: '50/min fixed-window' } },
      },
    ),
  );
  return { all: [...plain, ...tiered], tiered };
}

type Limiters = ReturnType<typeof limitersOn>;

/** Two to five items, sometimes with the same limiter and key. Items of one limiter and key have the same tier. */
function someItems(draw: (below: number) => number, count: number, isTiered: (i: number) => boolean) {
  const items = Array.from({ length: 2 + draw(4) }, () => {
    const index = draw(count);
    const key = `key ${draw(3)}`;
    const cost = [1, draw(4), draw(7) / 2, 100][draw(20) === 0 ? 3 : draw(3)];
    const keep = draw(5) === 0 ? [0.3, 1, 2][draw(3)] : undefined;
    const isPro = isTiered(index) && key === 'key 1';
    const byPolicy = isTiered(index) && draw(2) === 0 ? { rate: draw(3), day: 1 + draw(3) } : cost;
    return { index, item: { key, cost: byPolicy, keep, ...(isPro && { tier: 'pro' }) } };
  });
  return ({ all }: Limiters): ManyItem<MaybePromise<Decision>>[] =>
    items.map(({ index, item }) => ({ ...item, limiter: all[index] }));
}

async function compare(make: (clock: ManualClock) => Store, name: string, steps: number, seed: number) {
  const clock = manualClock(START);
  const draw = random(seed);
  const [here, there] = [memory({ clock }), make(clock)].map((store) => limitersOn(store, name));
  const isTiered = (i: number): boolean => here.tiered.includes(here.all[i]);
  let passed = 0;
  for (let step = 0; step < steps; step++) {
    // The clock never goes back, because the memory store drops limiters whose rows are fully replenished. At an earlier time, its
    // decisions would differ from those of a store that still has these rows.
    clock.advance(Math.max(0, someGap(draw)));
    const itemsOf = someItems(draw, here.all.length, isTiered);
    const expected = await here.all[0].takeMany(itemsOf(here));
    const actual = await there.all[0].takeMany(itemsOf(there));
    expect(actual, `step ${step}`).toEqual(expected);
    expect(actual.atomic).toBe(true);
    if (actual.allowed) passed++;
    if (draw(20) > 0) continue;
    const [index, key, span] = [draw(here.all.length), `key ${draw(3)}`, draw(2) * 500];
    for (const { all } of [here, there])
      await (span === 0 ? all[index].unblock(key) : all[index].block(key, span));
  }
  // Both outcomes must be frequent.
  expect(passed).toBeGreaterThan(steps / 10);
  expect(passed).toBeLessThan((steps * 9) / 10);
  for (const limiter of [...here.all, ...there.all]) await limiter.close();
}

describe('takeMany makes the same decisions as in memory', { timeout: 120_000 }, () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  afterAll(() => client.disconnect());

  test.each([1, 2])('on Redis, seed %i', (seed) =>
    compare(
      (clock) => redis(client, { onFailure: 'throw', deadline: '30s', clock }),
      `many ${process.pid} ${seed}`,
      250,
      seed,
    ),
  );

  test('on Redis with a client that exchanges text', () =>
    compare(
      (clock) => {
        const send = (command: readonly string[]) => client.call(...(command as [string, ...string[]]));
        return redis({ send }, { onFailure: 'throw', deadline: '30s', clock });
      },
      `many text ${process.pid}`,
      200,
      4,
    ));

  test('on Valkey', () => {
    const valkey = new Redis(inject('valkeyPort'), '127.0.0.1');
    return compare(
      (clock) => redis(valkey, { onFailure: 'throw', deadline: '30s', clock }),
      `many ${process.pid}`,
      30,
      5,
    ).finally(() => valkey.disconnect());
  });

  // With 100 keys, all rows are in one stripe. With 5000, most lists of items need several stripes.
  test.each([100, 5000])('in shared memory for %i keys', (maxKeys) =>
    compare((clock) => sharedMemory({ maxKeys, logEntries: 100_000, clock }), 'many', 400, 7),
  );

  test('on Postgres', async () => {
    const server = await postgresServer();
    const make = (clock: ManualClock) =>
      postgres(server.pool(), { onFailure: 'throw', deadline: '30s', clock });
    try {
      await compare(make, 'many', 200, 7);
    } finally {
      await server.stop();
    }
  });

  test('over ipc', () =>
    compare(
      (clock) => ipc({ path: socketPath(), store: memory({ clock }), onFailure: 'throw', deadline: '30s' }),
      'many',
      400,
      6,
    ));
});
