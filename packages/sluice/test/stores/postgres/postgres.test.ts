import pg from 'pg';
import sqlOf from 'postgres';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createLimiter, type Decision, fixedWindow, type Limiter, SluiceError } from '../../../src/index.ts';
import type { Found, Rows } from '../../../src/stores/cas/swap-store.ts';
import { runnerOf } from '../../../src/stores/postgres/client.ts';
import { migration, postgres } from '../../../src/stores/postgres/index.ts';
import { postgresRows } from '../../../src/stores/postgres/rows.ts';
import { conformance } from '../../../src/testing/index.ts';
import { differential } from '../differential.ts';
import { proxyTo } from '../redis/proxy.ts';
import { outcome, punctually, until } from 'sluice-test-support/redis/watch.ts';
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

/** The deadline is long, because a slow answer is not a failure in these tests. */
const patient = { deadline: '30s', onFailure: 'throw' } as const;

/**
 * Repeats a test during which this machine paused. A decision that is written more than a second late is rejected and made again.
 */
let tries = 0;
const swiftly = (run: (own: string) => Promise<void>) => () => punctually(200, () => run(`swift-${++tries}`));

/** A custom client that accepts text and values. */
function counting() {
  const statements: string[] = [];
  const query = (text: string, values: unknown[]) => {
    expect(text).toBeTypeOf('string');
    statements.push(text);
    return pool.query(text, values);
  };
  return { statements, query };
}

async function tableOf(name: string): Promise<string> {
  await pool.query(migration({ table: name, unlogged: true }));
  return name;
}

const rowsOf = async (table: string) =>
  (await pool.query<{ key: string; version: string }>(`SELECT key, version FROM ${table} ORDER BY key`)).rows;

describe.each([
  ['pg', () => pool],
  ['postgres.js', () => sql],
])('the Postgres store over %s', (client, connect) => {
  let stores = 0;
  const claims = conformance(async (clock) => {
    const table = await tableOf(`claims_${client.replace('.', '')}_${++stores}`);
    return postgres(connect(), { ...patient, clock, table });
  });
  for (const claim of claims) test(claim.name, claim.run);
});

differential('the Postgres store, compared with memory,', (clock) => postgres(pool, { ...patient, clock }), {
  hits: 10_000,
  atOnce: 6,
});

describe('the Postgres store', () => {
  test(
    'sends one statement for a check of a new, a known or a denied key',
    swiftly(async (name) => {
      const client = counting();
      const limiter = createLimiter('3/h', { store: postgres(client, patient), name });
      const count = async (ask: () => Promise<Decision>) => {
        const before = client.statements.length;
        const { allowed } = await ask();
        return { allowed, statements: client.statements.length - before };
      };
      // The first statement reads the server's time.
      expect(await count(() => limiter.take('a'))).toEqual({ allowed: true, statements: 2 });
      expect(await count(() => limiter.take('b'))).toEqual({ allowed: true, statements: 1 });
      expect(await count(() => limiter.take('b', 2))).toEqual({ allowed: true, statements: 1 });
      expect(await count(() => limiter.take('b'))).toEqual({ allowed: false, statements: 1 });
      expect(await count(() => limiter.peek('b'))).toEqual({ allowed: false, statements: 1 });

      // A write by another process costs one more statement, or none if the check is denied.
      const other = createLimiter('3/h', { store: postgres(pool, patient), name });
      await other.take('a');
      expect(await count(() => limiter.take('a'))).toEqual({ allowed: true, statements: 2 });
      await other.take('c', 3);
      expect(await count(() => limiter.take('c'))).toEqual({ allowed: false, statements: 1 });
      await other.reset('c');
      expect(await count(() => limiter.take('c'))).toEqual({ allowed: true, statements: 2 });
    }),
  );

  test(
    'sends one statement for all hits of a tick on one key',
    swiftly(async (name) => {
      const client = counting();
      const limiter = createLimiter('1000/h', { store: postgres(client, patient), name });
      await limiter.peek('k');
      const before = client.statements.length;
      await Promise.all(Array.from({ length: 100 }, () => limiter.take('k')));
      expect(client.statements.length - before).toBe(1);
      expect((await limiter.peek('k')).remaining).toBe(900);
    }),
  );

  test(
    'updates the row of a key that was fully replenished a moment ago, and needs two statements if the row was deleted',
    swiftly(async (name) => {
      const table = await tableOf(name.replace('-', '_'));
      const client = counting();
      const limiter = createLimiter('1000/s', { store: postgres(client, { ...patient, table }), name });
      const take = async () => {
        const before = client.statements.length;
        const { remaining } = await limiter.take('k', 5);
        return { remaining, statements: client.statements.length - before };
      };
      await take();
      await until(async () => (await limiter.peek('k')).remaining === 1000);
      await pool.query(`DELETE FROM ${table} WHERE expires < clock_timestamp() + interval '1 s'`);
      expect(await take()).toEqual({ remaining: 995, statements: 1 });
      await pool.query(`DELETE FROM ${table}`);
      expect(await take()).toEqual({ remaining: 995, statements: 2 });
      expect(await rowsOf(table)).toHaveLength(1);
    }),
  );

  test('writes nothing for a denied take', async () => {
    const table = await tableOf('denied');
    const limiter = createLimiter('3/h', {
      store: postgres(pool, { ...patient, table }),
      name: 'api',
    });
    await limiter.take('k', 3);
    const before = await rowsOf(table);
    expect((await limiter.take('k')).allowed).toBe(false);
    expect((await limiter.peek('k')).allowed).toBe(false);
    expect(await rowsOf(table)).toEqual(before);
    expect(before.map(({ key }) => key)).toEqual(['api:k']);
  });

  test('rarely changes the expiry of a row, and never sets it too early or much too late', async () => {
    const table = await tableOf('expiries');
    const limiter = createLimiter('100/min', {
      store: postgres(pool, { ...patient, table }),
      name: 'api',
    });
    const expiries = new Set<number>();
    for (let i = 0; i < 50; i++) {
      const asked = performance.now();
      const { resetAfter } = await limiter.take('k');
      const { rows } = await pool.query<{ left: number; expires: Date }>(
        `SELECT expires, extract(epoch FROM expires - clock_timestamp())::float8 * 1000 AS left FROM ${table}`,
      );
      expect(rows[0]?.left).toBeGreaterThan(resetAfter - (performance.now() - asked) - 100);
      expect(rows[0]?.left).toBeLessThan(1.5 * (resetAfter + 10_000) + 100);
      expiries.add(Number(rows[0]?.expires));
    }
    expect(expiries.size).toBeLessThan(15);
  });
});

describe('the time of a decision', () => {
  const write = (rows: Rows, key: string, found: Found) =>
    new Promise<true | false | Found>((resolve, reject) =>
      rows.put({ key, found, value: new Uint8Array(64), expiresIn: 60_000 }, resolve, reject),
    );

  test.each([
    ['is not written if it is ahead of the server’s time', 5000, false],
    ['is not written if it is more than a second behind the server’s time', -1500, false],
    ['is written if it is just behind the server’s time', -200, true],
  ])('%s (%s ms)', (_, off, written) =>
    swiftly(async (key) => {
      const rows = postgresRows(runnerOf(pool, true, 30_000), 'sluice');
      const absent = await rows.get(key, true);
      const first = await write(rows, key, { ...absent, now: absent.now + off });
      expect(first === true).toBe(written);
      expect((await rows.get(key, true)).value === undefined).toBe(!written);

      await write(rows, key, absent);
      const present = await rows.get(key, true);
      const second = await write(rows, key, { ...present, now: present.now + off });
      expect(second === true).toBe(written);
      // A rejection returns the current row, so the next attempt does not need to read it.
      if (!written) expect(second).toMatchObject({ version: present.version, sure: true });
    })(),
  );

  test('is the server’s time, and the process’s estimate is never ahead of it', async () => {
    const rows = postgresRows(runnerOf(pool, true, 30_000), 'sluice');
    await rows.get('k', true);
    for (let i = 0; i < 20; i++) {
      const began = performance.now();
      const guess = (await rows.get('k', false)).now;
      const { now } = await rows.get('k', true);
      expect(now - guess).toBeGreaterThanOrEqual(0);
      expect(now - guess).toBeLessThan(1000 + performance.now() - began);
    }
  });
});

test('after the server’s clock was 30 days ahead, a key is denied no longer than announced', async () => {
  const month = { now: () => Date.now() + 30 * 86_400_000 };
  const before = createLimiter('4/s', { store: postgres(pool, { ...patient, clock: month }), name: 'month' });
  await before.take('k', 4);
  const after = createLimiter('4/s', { store: postgres(pool, patient), name: 'month' });
  const { allowed, retryAfter } = await after.take('k');
  expect(allowed).toBe(false);
  expect(retryAfter).toBeLessThanOrEqual(250);
  await new Promise((resolve) => setTimeout(resolve, retryAfter + 5));
  expect((await after.take('k')).allowed).toBe(true);
  // 30 days would have replenished all four units.
  expect((await after.take('k', 4)).allowed).toBe(false);
});

test.each([60_000, -60_000])(
  'the Postgres store corrects its estimate of the time after one rejected write when the process’s clock jumps by %s ms',
  (jump) =>
    swiftly(async (name) => {
      const client = counting();
      const limiter = createLimiter('100/h', { store: postgres(client, patient), name });
      await limiter.take('k');
      const real = performance.now.bind(performance);
      const jumped = vi.spyOn(performance, 'now').mockImplementation(() => real() + jump);
      try {
        const before = client.statements.length;
        // With a time that is a minute too late, the key would have been replenished. With a time that is a minute too early, the
        // wait would have been longer.
        expect((await limiter.take('k')).remaining).toBe(98);
        expect(client.statements.length - before).toBe(2);
        await limiter.take('k');
        expect(client.statements.length - before).toBe(3);
      } finally {
        jumped.mockRestore();
      }
    })(),
);

describe('the table', () => {
  test('is never created implicitly, and the error contains SQL that creates it', async () => {
    const store = postgres(pool, { ...patient, table: 'missing', onFailure: 'allow' });
    const limiter = createLimiter('3/h', { store, name: 'api' });
    const failure = await limiter.take('k').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SluiceError);
    const { code, message } = failure as SluiceError;
    expect(code).toBe('ERR_TABLE');
    const shown = /create it with\n(.*?)\n\);/s.exec(`${message}`)?.[0];
    expect(shown).toBeDefined();
    expect(message).toContain(migration({ table: 'missing' }));
    await pool.query(migration({ table: 'missing' }));
    expect((await limiter.take('k')).remaining).toBe(2);
  });

  test.each([
    [false, 'p'],
    [true, 'u'],
  ])(
    'may be in a schema, with the option unlogged set to %s, and creating it twice does no harm',
    async (unlogged, persistence) => {
      const schema = `apart_${persistence}`;
      const table = `${schema}.limits`;
      await pool.query(`CREATE SCHEMA ${schema}`);
      await pool.query(migration({ table, unlogged }));
      await pool.query(migration({ table, unlogged }));
      const limiter = createLimiter('3/h', {
        store: postgres(pool, { ...patient, table }),
        name: 'api',
      });
      expect((await limiter.take('k')).remaining).toBe(2);
      const { rows } = await pool.query('SELECT relpersistence AS p FROM pg_class WHERE oid = $1::regclass', [
        table,
      ]);
      expect(rows).toEqual([{ p: persistence }]);
    },
  );

  test.each(['', 'a b', 'a;b', '"a"', 'a.b.c', 'x'.repeat(60)])('cannot have the name %j', (table) => {
    expect(() => migration({ table })).toThrow(SluiceError);
    expect(() => postgres(pool, { onFailure: 'throw', table })).toThrow(SluiceError);
  });

  test('is cleared of expired rows by writers, a few hundred rows at a time', async () => {
    const table = await tableOf('cleaned');
    const insert = (rows: number, age: string) =>
      pool.query(
        `INSERT INTO ${table} SELECT $1 || i, '\\x00', 1, now() - $1::interval FROM generate_series(1, ${rows}) i`,
        [age],
      );
    await insert(700, '1s');
    await insert(300, '-1h');
    const limiter = createLimiter('1000/h', {
      store: postgres(pool, { ...patient, table }),
      name: 'api',
    });
    const write = async (times: number) => {
      for (let i = 0; i < times; i++) await limiter.take('k');
    };
    await write(99);
    expect(await rowsOf(table)).toHaveLength(1001);
    await write(1);
    await expect.poll(async () => (await rowsOf(table)).length).toBe(501);
    await write(100);
    await expect.poll(async () => (await rowsOf(table)).length).toBe(301);
  });
});

async function contended(limiters: readonly Limiter<Promise<Decision>>[], checks: number): Promise<number> {
  let admitted = 0;
  await Promise.all(
    limiters.map(async (limiter) => {
      for (let i = 0; i < checks; i++) {
        const { allowed } = await limiter.take('k');
        if (allowed) admitted++;
      }
    }),
  );
  return admitted;
}

describe('contention', () => {
  const policy = fixedWindow({ limit: 300, per: '1d', align: 'first' });

  test('between eight stores is resolved, and exactly the limit is admitted', async () => {
    const limiters = Array.from({ length: 8 }, (_, i) =>
      createLimiter(policy, { store: postgres(i % 2 === 0 ? pool : sql, patient), name: 'eight' }),
    );
    expect(await contended(limiters, 50)).toBe(300);
  });

  test.each(['repeatable read', 'serializable'])('is handled when transactions are %s', async (level) => {
    const strict = server.pool({ options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` });
    const limiters = Array.from({ length: 4 }, () =>
      createLimiter(policy, { store: postgres(strict, patient), name: level }),
    );
    expect(await contended(limiters, 100)).toBe(300);
  });

  test('is handled without prepared statements and over one connection', async () => {
    const single = server.pool({ max: 1 });
    const one = sqlOf(server.url, { max: 1, prepare: false });
    const limiters = [single, single, one, one].map((client) =>
      createLimiter(policy, {
        store: postgres(client, { ...patient, prepare: false }),
        name: 'unprepared',
      }),
    );
    expect(await contended(limiters, 100)).toBe(300);
    await one.end();
  });
});

describe('faults', () => {
  test(
    'a check times out on a row that another client has locked, and nothing else fails',
    swiftly(async (name) => {
      const limiter = createLimiter('5/h', {
        store: postgres(server.pool(), { onFailure: 'throw', deadline: 1000 }),
        name,
      });
      await limiter.take('k');
      const other = await pool.connect();
      try {
        await other.query('BEGIN');
        await other.query('SELECT FROM sluice WHERE key = $1 FOR UPDATE', [`${name}:k`]);
        await expect(limiter.take('k')).rejects.toMatchObject({ fault: 'deadline' });
        expect((await limiter.take('other')).allowed).toBe(true);
      } finally {
        await other.query('ROLLBACK');
        other.release();
      }
      // A take whose caller no longer waits is refunded if it was made after all.
      await expect.poll(async () => (await limiter.peek('k')).remaining).toBe(4);
    }),
  );

  test('a lost connection is reported, and the next check uses another connection', async () => {
    const client = server.pool({ max: 1, application_name: 'doomed' });
    const limiter = createLimiter('5/h', { store: postgres(client, patient), name: 'ended' });
    await limiter.take('k');
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query("SELECT FROM sluice WHERE key = 'ended:k' FOR UPDATE");
    const pending = limiter.take('k').catch((error: unknown) => error);
    await expect
      .poll(async () => {
        const { rowCount } = await pool.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed' AND wait_event_type = 'Lock'",
        );
        return rowCount;
      })
      .toBe(1);
    expect(await pending).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', fault: 'connection' });
    await other.query('ROLLBACK');
    other.release();
    expect((await limiter.take('k')).remaining).toBe(3);
  });

  test('query_timeout makes the pool replace a silent connection that is never closed', async () => {
    const proxy = await proxyTo(server.port);
    const connectionString = server.url.replace(String(server.port), String(proxy.port));
    const client = server.pool({ connectionString, max: 1, query_timeout: 2000 });
    const limiter = createLimiter('1000/h', {
      store: postgres(client, { onFailure: 'throw', deadline: 100 }),
      name: 'silent',
    });
    const isAnswered = async () => (await outcome(() => limiter.take('k'))).value?.source === 'store';
    await until(isAnswered);
    proxy.mute = true;
    expect((await outcome(() => limiter.take('k'))).error).toMatchObject({ fault: 'deadline' });
    proxy.mute = false;
    expect(await until(isAnswered)).toBeLessThan(5000);
    await proxy.stop();
  });

  test('a check rejects with the fault `read-only` on a server that does not accept writes', async () => {
    const store = postgres(server.pool({ options: '-c default_transaction_read_only=on' }), patient);
    const limiter = createLimiter('5/h', { store, name: 'api' });
    await expect(limiter.take('k')).rejects.toMatchObject({ fault: 'read-only' });
  });

  test.each([
    ['a missing privilege', () => ({ options: '-c role=pg_monitor' }), 'GRANT SELECT'],
    [
      'a wrong password',
      () => ({ connectionString: server.url.replace(':password@', ':wrong@') }),
      'user or password',
    ],
  ])("every check rejects because of %s, although onFailure is 'allow'", async (_, options, advice) => {
    const store = postgres(server.pool(options()), { ...patient, onFailure: 'allow' });
    const limiter = createLimiter('5/h', { store, name: 'api' });
    for (let i = 0; i < 20; i++)
      await expect(limiter.take('k')).rejects.toMatchObject({
        code: 'ERR_PERMISSION',
        message: expect.stringContaining(advice),
      });
  });

  test('the store needs only the privileges that the error message names', async () => {
    const table = await tableOf('granted');
    await pool.query(`CREATE ROLE granted; GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO granted`);
    const store = postgres(server.pool({ options: '-c role=granted' }), { ...patient, table });
    const limiter = createLimiter('300/h', { store, name: 'api' });
    for (let i = 0; i < 150; i++) expect((await limiter.take(`key ${i}`)).source).toBe('store');
    expect((await limiter.take('key 0', 299)).allowed).toBe(true);
    expect((await limiter.take('key 0')).allowed).toBe(false);
    await limiter.reset('key 0');
  });

  test('if a pool without an error listener loses a connection, the process emits one warning instead of ending', async () => {
    const warnings: string[] = [];
    const listener = (warning: Error & { code?: string }) => warnings.push(warning.code ?? '');
    process.on('warning', listener);
    const unwatched = new pg.Pool({ connectionString: server.url });
    const limiter = createLimiter('500/h', { store: postgres(unwatched, patient), name: 'unwatched' });
    for (let round = 0; round < 2; round++) {
      await limiter.take('k');
      const lost = new Promise<void>((resolve) => void unwatched.once('remove', () => resolve()));
      await pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%sluice%' AND pid <> pg_backend_pid()",
      );
      await lost;
    }
    await expect.poll(() => warnings).toContain('SLUICE_POSTGRES_ERROR_LISTENER');
    expect(warnings.filter((code) => code === 'SLUICE_POSTGRES_ERROR_LISTENER')).toHaveLength(1);
    process.off('warning', listener);
    await unwatched.end();
  });

  test('checks are answered according to onFailure if the server is unreachable', async () => {
    const nowhere = server.pool({ connectionString: 'postgres://127.0.0.1:1/none' });
    const declared = createLimiter('5/h', { store: postgres(nowhere, { onFailure: 'deny' }), name: 'api' });
    expect(await declared.take('k')).toMatchObject({ allowed: false, source: 'fallback' });
    const thrown = createLimiter('5/h', { store: postgres(nowhere, patient), name: 'api' });
    await expect(thrown.take('k')).rejects.toMatchObject({ fault: 'connection' });
    // Node reports this error for a host with two addresses.
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    const both = createLimiter('5/h', {
      store: postgres({ query: () => Promise.reject(refused) }, { onFailure: 'throw' }),
      name: 'api',
    });
    await expect(both.take('k')).rejects.toMatchObject({ fault: 'connection' });
    const js = sqlOf('postgres://127.0.0.1:1/none', { connect_timeout: 1 });
    const over = createLimiter('5/h', { store: postgres(js, patient), name: 'api' });
    await expect(over.take('k')).rejects.toMatchObject({ fault: 'connection' });
    await js.end();
  });

  test('repeated denials can be answered from a cache', async () => {
    const client = counting();
    const store = postgres(client, { ...patient, denyCache: true });
    const limiter = createLimiter('1/h', { store, name: 'remembered' });
    await limiter.take('k');
    await limiter.take('k');
    const before = client.statements.length;
    expect(await limiter.take('k')).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(client.statements.length).toBe(before);
  });
});

test('postgres rejects a value that is not a client, and a misspelled option', () => {
  for (const client of [undefined, null, 'postgres://', {}, () => {}])
    expect(() => postgres(client as never, { onFailure: 'throw' })).toThrow('postgres.client');
  expect(() => postgres(pool, { tabel: 'x' } as never)).toThrow('ERR_UNKNOWN_OPTION');
});

test('the Postgres store rejects a clock that returns a time below 0', async () => {
  const table = await tableOf('clock_below_zero');
  const clock = { now: () => -5 };
  const limiter = createLimiter('2/s', {
    store: postgres(pool, { ...patient, table, clock }),
    name: 'api',
  });
  await expect(limiter.take('k')).rejects.toMatchObject({ code: 'ERR_CLOCK', option: 'postgres.clock' });
});
