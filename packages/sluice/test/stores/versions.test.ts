/**
 * Tests several versions of a limiter under one name, as in a rolling deploy. Each version counts separately, and manual blocks
 * hold for all of them.
 */
import { Redis } from 'ioredis';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  casStore,
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  type LimiterOptions,
  type MaybePromise,
  memory,
  type Policies,
  type Store,
} from '../../src/index.ts';
import { migration, postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { someGap, someVerb } from './differential.ts';
import { type PostgresServer, postgresServer } from 'sluice-test-support/postgres/server.ts';
import { another, type MakeStore, STORES } from '../support/stores.ts';

type AnyLimiter = Limiter<MaybePromise<Decision>>;

const START = 1_700_000_000_000;

let server: PostgresServer;
let pool: pg.Pool;
const client = new Redis(inject('redisPort'), '127.0.0.1');

beforeAll(async () => {
  server = await postgresServer();
  pool = server.pool();
  await pool.query(migration({ table: 'versions', unlogged: true }));
}, 60_000);

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

/** Valkey in wasm needs a tenth of a second per answer, and runs the same script as Redis. */
const { valkey: _, ...withoutValkey } = STORES;

const ALL: Readonly<Record<string, MakeStore>> = {
  ...withoutValkey,
  'compare and swap': swapped,
  postgres: (clock) => postgres(pool, { onFailure: 'throw', table: 'versions', clock, deadline: '30s' }),
};

/** A map that supports only compare-and-swap. */
function swapped(clock: ManualClock): Store {
  const rows = new Map<string, { value: Uint8Array; version: number }>();
  let version = 0;
  const service = {
    get: (key: string) => rows.get(key),
    put(key: string, value: Uint8Array, expected: number | undefined) {
      if (rows.get(key)?.version !== expected) return false;
      rows.set(key, { value, version: ++version });
      return true;
    },
  };
  return casStore(service, { onFailure: 'throw', clock, deadline: '30s' });
}

let names = 0;

/** One limiter per version, all with one name on the same keys, each on its own store object as in separate processes. */
function side(
  make: MakeStore,
  clock: ManualClock,
  versions: readonly Policies[],
  options: Omit<LimiterOptions, 'name'> = {},
): AnyLimiter[] {
  const store = make(clock);
  const name = `versions ${process.pid} ${++names}`;
  return versions.map((policies) => createLimiter(policies, { ...options, store: another(store), name }));
}

async function admitted(limiters: readonly AnyLimiter[], takes: number): Promise<number[]> {
  const counts = limiters.map(() => 0);
  for (let i = 0; i < takes; i++) {
    const version = i % limiters.length;
    if ((await limiters[version].take('k')).allowed) counts[version]++;
  }
  return counts;
}

const DEPLOYS: Readonly<Record<string, readonly [Policies, Policies]>> = {
  'an additional policy': ['10/h', '10/h & 100/day fixed-window'],
  'another algorithm': ['10/h', '10/h fixed-window'],
  'a sliding log': ['10/h', '10/h sliding-log'],
  'two sliding logs': ['10/h sliding-log', '10/h sliding-log & 100/day sliding-log'],
};

for (const [name, make] of Object.entries(ALL)) {
  describe(`on ${name}`, () => {
    test.each(Object.entries(DEPLOYS))(
      'two versions of a limiter that alternate on a key each admit exactly their own limit: %s',
      async (_, versions) => {
        const limiters = side(make, manualClock(START), versions);
        expect(await admitted(limiters, 200)).toEqual([10, 10]);
      },
    );

    test('each version of a limiter frees only its own concurrency places', async () => {
      const jobs = concurrency({ limit: 3, lease: '1m' });
      const versions = side(make, manualClock(START), [jobs, { rate: '100/min', jobs }]);
      expect(await admitted(versions, 12)).toEqual([3, 3]);
      await versions[0].release('k');
      expect((await versions[1].take('k')).allowed).toBe(false);
      expect((await versions[0].take('k')).allowed).toBe(true);
    });

    test('versions of a limiter whose tiers have different algorithms count separately, and a manual block applies to all of them', async () => {
      const clock = manualClock(START);
      const store = make(clock);
      const name = `versions ${process.pid} ${++names}`;
      const before = createLimiter('10/h', { store, name, tiers: { pro: '20/h fixed-window' } });
      const after = createLimiter('10/h fixed-window', {
        store: another(store),
        name,
        tiers: { pro: '20/h sliding-log' },
      });
      const asks = [
        () => before.take('k'),
        () => before.take('k', { tier: 'pro' }),
        () => after.take('k', { tier: 'pro' }),
      ];
      const counts = [0, 0, 0];
      for (let i = 0; i < 120; i++) if ((await asks[i % 3]()).allowed) counts[i % 3]++;
      expect(counts).toEqual([10, 20, 20]);
      await after.block('k', '2h');
      for (const ask of asks) expect(await ask()).toMatchObject({ allowed: false, policy: 'block' });
    });

    test('a manual block applies to each version of a limiter regardless of other writes, and a reset ends it', async () => {
      const clock = manualClock(START);
      const versions = side(make, clock, ['5/s', '5/s sliding-log', '5/s & 9/s fixed-window']);
      await versions[0].take('k', 5);
      await versions[1].block('k', '1h');
      for (let i = 0; i < 3; i++) {
        clock.advance(2000);
        for (const version of versions) {
          await version.take('k', { mode: 'always' });
          await version.refund('k', 5);
          expect(await version.take('k')).toMatchObject({ allowed: false, policy: 'block' });
        }
      }
      for (const version of versions) await version.reset('k');
      for (const version of versions) expect((await version.take('k', 5)).allowed).toBe(true);
    });

    test("new limits with inherit 'reset' start from scratch, but keep a manual block", async () => {
      const [before, after] = side(make, manualClock(START), ['5/h', '6/h'], { inherit: 'reset' });
      await before.take('k', 5);
      expect((await after.take('k', 6)).allowed).toBe(true);
      await before.block('k', '1h');
      expect((await after.take('k')).policy).toBe('block');
    });

    test('for random hits, each version of a limiter decides as if it had its own store', {
      timeout: 120_000,
    }, async () => {
      const versions: Policies[] = [
        '7/s burst 4',
        '5/s sliding-log',
        { rate: '5/s', jobs: concurrency({ limit: 3, lease: '900ms' }), log: '4/s sliding-log' },
      ];
      const clock = manualClock(START);
      const draw = random(7);
      for (let round = 0; round < 6; round++) {
        const tested = side(make, clock, versions);
        const models = versions.map((policies) => createLimiter(policies, { store: memory({ clock }) }));
        for (let i = 0; i < 100; i++) {
          clock.advance(Math.max(0, someGap(draw)));
          const version = draw(versions.length);
          const ask = someVerb(draw);
          const model = models[version];
          const others = models.filter((one) => one !== model);
          const expected = await ask({
            ...(model as AnyLimiter),
            block(key, span) {
              for (const other of others) other.block(key, span);
              return model.block(key, span);
            },
            reset(key) {
              for (const other of others) other.reset(key);
              return model.reset(key);
            },
          });
          expect(await ask(tested[version])).toEqual(expected);
        }
      }
    });
  });
}

describe('the value in Redis that versions of a limiter share, with the server’s own clock,', () => {
  const store = redis(client, { onFailure: 'throw', deadline: '30s' });

  test('shrinks to the length that one version needs once the state of the other version has expired', async () => {
    const name = `versions ${process.pid} ${++names}`;
    const key = `${name}:{k}`;
    const after = createLimiter('100/h', { store, name });
    await after.take('k');
    const bare = await client.strlen(key);
    // This version stays in use for at least 100 ms, whenever its window began.
    const before = createLimiter('5/100ms sliding-window', { store: another(store), name });
    await before.take('k');
    await after.take('k');
    expect(await client.strlen(key)).toBeGreaterThan(2 * bare);
    await new Promise((resolve) => setTimeout(resolve, 250));
    // Most takes write only their cells. The next take that moves the expiry also removes the data of the expired version.
    for (let i = 0; i < 8; i++) await after.take('k');
    expect(await client.strlen(key)).toBe(bare);
    expect((await after.peek('k')).remaining).toBe(90);
  });

  test.each(['5/day', '5/day sliding-log'])(
    'is kept until it is fully replenished for every version, including a version with %s',
    async (long) => {
      const name = `versions ${process.pid} ${++names}`;
      const brief = createLimiter('5/10s fixed-window', { store, name });
      const slow = createLimiter(long, { store: another(store), name });
      await slow.take('k', 5);
      await brief.take('k');
      await slow.peek('k');
      await brief.take('k');
      await brief.refund('k', 5);
      expect(await client.pttl(`${name}:{k}`)).toBeGreaterThan(86_000_000);
      expect((await slow.take('k')).allowed).toBe(false);
      expect((await brief.peek('k')).remaining).toBe(5);
    },
  );

  test('holds a sliding log that grows and shrinks, without changing the count of another version', async () => {
    const name = `versions ${process.pid} ${++names}`;
    const log = createLimiter('300/300ms sliding-log', { store, name });
    const policy = fixedWindow({ limit: 100_000, per: '1d', align: 'first' });
    const other = createLimiter(policy, { store: another(store), name });
    let charged = 0;
    for (let round = 0; round < 5; round++) {
      for (let i = 0; i < 100; i++) {
        await log.take('k');
        if (i % 3 === 0 && (await other.take('k')).allowed) charged++;
      }
      expect((await other.peek('k')).remaining).toBe(100_000 - charged);
      await new Promise((resolve) => setTimeout(resolve, 310));
      expect((await log.peek('k')).remaining).toBe(300);
    }
  });
});
