/** Tests simultaneous checks of many keys, which must need few statements and be exact with default settings. */
import pg from 'pg';
import sqlOf from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, type Decision, type Limiter, memory } from '../../../src/index.ts';
import type { MaybePromise } from '../../../src/engine/contract.ts';
import { migration, postgres } from '../../../src/stores/postgres/index.ts';
import { CASES } from '../../support/policies.ts';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { type PostgresServer, postgresServer } from 'sluice-test-support/postgres/server.ts';

let server: PostgresServer;
let pool: pg.Pool;
let sql: sqlOf.Sql;

beforeAll(async () => {
  server = await postgresServer();
  pool = server.pool();
  sql = sqlOf(server.url);
}, 60_000);

afterAll(async () => {
  await sql?.end();
  await server?.stop();
});

const patient = { deadline: '30s' } as const;
const keysOf = (count: number) => Array.from({ length: count }, (_, i) => `client ${i} "\\{},`);
const takeEach = (limiter: Limiter<Promise<Decision>>, keys: readonly string[]) =>
  Promise.all(keys.map(async (key) => limiter.take(key)));
const admittedIn = (decisions: readonly Decision[]) => decisions.filter(({ allowed }) => allowed).length;

function countingOn(client: pg.Pool) {
  const statements: string[] = [];
  const query = (text: string, values: unknown[]) => {
    statements.push(text);
    return client.query(text, values);
  };
  return { statements, query };
}

test('the Postgres store checks 200 keys in one tick with one statement, whether the keys are new, known or denied', async () => {
  const client = countingOn(pool);
  const limiter = createLimiter('2/h', { store: postgres(client, patient), name: 'tick' });
  await limiter.peek('any');
  const counts: [number, number][] = [];
  for (let i = 0; i < 3; i++) {
    const before = client.statements.length;
    const decisions = await takeEach(limiter, keysOf(200));
    const cleanings = client.statements.slice(before).filter((text) => text.includes('DELETE')).length;
    counts.push([admittedIn(decisions), client.statements.length - before - cleanings]);
  }
  expect(counts).toEqual([
    [200, 1],
    [200, 1],
    [0, 1],
  ]);
});

test('the Postgres store checks 500 keys simultaneously within the default deadline, through a default pool that is not connected yet', () =>
  punctually(200, async () => {
    const limiter = createLimiter('10/min', {
      store: postgres(server.pool()),
      name: `cold ${Math.random()}`,
    });
    const decisions = await takeEach(limiter, keysOf(500));
    expect(decisions.filter(({ source }) => source === 'store')).toHaveLength(500);
    expect(admittedIn(decisions)).toBe(500);
  }));

describe('an application that holds all connections of the pool', () => {
  test('gets the fallback of onFailure, and a warning that says what to change', async () => {
    const shared = server.pool({ max: 3 });
    const held = await Promise.all([shared.connect(), shared.connect(), shared.connect()]);
    const warnings: { code?: string; message: string }[] = [];
    const listen = (warning: Error) => void warnings.push(warning);
    process.on('warning', listen);
    try {
      const store = postgres(shared, { deadline: 100, onFailure: 'deny' });
      const limiter = createLimiter('10/min', { store, name: 'held' });
      for (let i = 0; i < 3; i++)
        expect(await limiter.take('k')).toMatchObject({ allowed: false, source: 'fallback' });
      const codes = () => warnings.map(({ code }) => code).filter((code) => code?.startsWith('SLUICE'));
      await expect.poll(codes).toEqual(['SLUICE_POOL_EXHAUSTED']);
      expect(warnings[0]?.message).toContain('All 3 connections of the Postgres pool are in use');
    } finally {
      process.off('warning', listen);
      for (const client of held) client.release();
    }
  });

  test('gets no warning if a connection becomes free in time', async () => {
    const shared = server.pool({ max: 1 });
    const held = await shared.connect();
    const warnings: Error[] = [];
    const listen = (warning: Error) => void warnings.push(warning);
    process.on('warning', listen);
    const limiter = createLimiter('10/min', { store: postgres(shared, patient), name: 'freed' });
    const taken = limiter.take('k');
    setTimeout(() => held.release(), 50);
    expect((await taken).allowed).toBe(true);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });
});

describe.each(Object.entries(CASES))('%s', (name, { policies }) => {
  test('two stores that check the same 40 keys simultaneously admit exactly what memory admits', async () => {
    const clock = { now: () => 1_700_000_000_000 };
    const keys = keysOf(40);
    const checkAll = async (limiters: readonly Limiter<MaybePromise<Decision>>[]) => {
      const lanes = limiters.flatMap((limiter) =>
        [1, 2].map(async () => {
          let admitted = 0;
          for (let i = 0; i < 6; i++) {
            const decisions = await Promise.all(keys.map(async (key) => limiter.take(key)));
            admitted += admittedIn(decisions);
          }
          return admitted;
        }),
      );
      return (await Promise.all(lanes)).reduce((sum, admitted) => sum + admitted, 0);
    };
    const inMemory = createLimiter(policies, { store: memory({ clock }), name });
    const shared = [pool, sql].map((client) =>
      createLimiter(policies, { store: postgres(client, { ...patient, clock }), name: `two: ${name}` }),
    );
    expect(await checkAll(shared)).toBe(await checkAll([inMemory, inMemory]));
  });
});

test('the Postgres store retries after deadlocks and serialization failures, and limits stay exact', async () => {
  const strict = server.pool({ options: '-c default_transaction_isolation=serializable' });
  /** Real conflicts between transactions depend on chance, so every fifth statement fails with the code of a conflict. */
  let asked = 0;
  const failing = {
    async query(text: string, values: unknown[]) {
      if (++asked % 5 > 0) return strict.query(text, values);
      throw Object.assign(new Error('rolled back'), { code: asked % 2 === 0 ? '40001' : '40P01' });
    },
  };
  const limiters = [0, 1, 2].map(() =>
    createLimiter('5/day fixed-window', { store: postgres(failing, patient), name: 'strict' }),
  );
  let admitted = 0;
  await Promise.all(
    limiters.map(async (limiter) => {
      for (let i = 0; i < 10; i++) {
        const decisions = await takeEach(limiter, keysOf(50));
        admitted += admittedIn(decisions);
      }
    }),
  );
  expect(admitted).toBe(250);
  expect(asked).toBeGreaterThan(10);
}, 60_000);

test('a check that waited for an earlier check of its key is sent in the same statement as the next checks of other callers', async () => {
  const client = countingOn(pool);
  const limiter = createLimiter('1000/h', { store: postgres(client, patient), name: 'next' });
  await limiter.peek('any');
  client.statements.length = 0;
  const callers = keysOf(10).map(async (key) => {
    await limiter.take(key);
    await limiter.take(`another ${key}`);
  });
  // By now, the statement with the first checks of the callers is under way, so this check of the first key waits for it to end.
  await new Promise((resolve) => void setImmediate(resolve));
  await Promise.all([...callers, limiter.take(keysOf(1)[0])]);
  expect(client.statements.filter((text) => !text.includes('DELETE'))).toHaveLength(2);
});

test.each([
  ['a single Client', () => new pg.Client(server.url)],
  ['a Client in pipeline mode', () => new pg.Client({ connectionString: server.url, pipeline: true })],
  [
    'a Client that receives bytes in the escape format',
    () => new pg.Client({ connectionString: server.url, options: '-c bytea_output=escape' }),
  ],
])('the Postgres store admits exactly the limit over %s', async (name, create) => {
  const client = create();
  await client.connect();
  const limiter = createLimiter('5/h', { store: postgres(client, { ...patient, onFailure: 'throw' }), name });
  const decisions = [
    ...(await takeEach(limiter, ['a', 'b', 'a'])),
    await limiter.take('a', 3),
    await limiter.take('a'),
  ];
  expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 4, 3, 0, 0]);
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false]);
  // A store that has written nothing must read the value.
  const reader = createLimiter('5/h', { store: postgres(client, { ...patient, onFailure: 'throw' }), name });
  expect((await reader.peek('a')).remaining).toBe(0);
  await client.end();
});

test('the Postgres store prepares a statement again after the server has rejected it', async () => {
  const table = 'created_later';
  // A pool would close the connection.
  const client = new pg.Client(server.url);
  await client.connect();
  const store = postgres(client, { ...patient, onFailure: 'throw', table });
  const limiter = createLimiter('5/h', { store, name: 'later' });
  await expect(limiter.take('k')).rejects.toMatchObject({ code: 'ERR_TABLE' });
  await client.query(migration({ table }));
  expect((await limiter.take('k')).remaining).toBe(4);
  await client.end();
});
