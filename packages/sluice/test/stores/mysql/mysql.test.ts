/** Tests the MySQL store on a MariaDB server that this test starts, with mysql2. */
import { createConnection, createPool, type Pool } from 'mysql2';
import { createPool as createPromisePool } from 'mysql2/promise';
import { type MariadbServer, mariadbServer } from 'sluice-test-support/mariadb/server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, SluiceError } from '../../../src/index.ts';
import { migration, mysql } from '../../../src/stores/mysql/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';
import { admittedByTwo, NODE } from '../writers.ts';

const patient = { deadline: '30s', onFailure: 'throw' } as const;
let server: MariadbServer;
let pool: Pool;

beforeAll(async () => {
  server = await mariadbServer();
  pool = createPool(server.url);
  await pool.promise().query(migration());
}, 60_000);

afterAll(async () => {
  await pool.promise().end();
  await server.stop();
});

describe('the MySQL store', () => {
  // One table serves all claims, each with its own limiter name.
  for (const claim of conformance((clock) => mysql(pool, { ...patient, clock }))) test(claim.name, claim.run);

  for (const claim of contenders(() => mysql(pool, patient), true)) test(claim.name, claim.run);

  test('admits exactly the limit in two processes', async () => {
    expect(await admittedByTwo(NODE, 'mysql', server.url)).toEqual({ oneKey: 500, manyKeys: 100 });
  }, 60_000);

  test('accepts pools and single connections, with or without the promise API, whatever their settings', async () => {
    const promised = createPromisePool({ uri: server.url, rowsAsArray: true, bigNumberStrings: true });
    const connection = createConnection({ uri: server.url, rowsAsArray: true });
    for (const client of [pool, promised, connection, connection.promise()]) {
      const limiter = createLimiter('10/h', { store: mysql(client, patient), name: 'clients' });
      await limiter.take('k', 2);
    }
    const limiter = createLimiter('10/h', { store: mysql(pool, patient), name: 'clients' });
    expect((await limiter.peek('k')).remaining).toBe(2);
    await promised.end();
    connection.destroy();
  });

  test('sends keys as parameters, so that a key cannot change a statement in any SQL mode', async () => {
    const strict = createPool(server.url);
    strict.on('connection', (connection) => {
      connection.query("SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'");
    });
    const limiter = createLimiter('10/h', { store: mysql(strict, patient), name: 'quotes' });
    const keys = ["'; DROP TABLE sluice; -- ", '\\', '"', '%', 'É', 'é', 'e', 'E'];
    for (const [i, key] of keys.entries()) await limiter.take(key, i);
    const found = await Promise.all(keys.map((key) => limiter.peek(key)));
    expect(found.map(({ remaining }) => remaining)).toEqual(keys.map((_, i) => 10 - i));
    await strict.promise().end();
  });

  test('uses the time of the server, whatever the time zone of the session', async () => {
    const other = createPool(server.url);
    other.on('connection', (connection) => connection.query("SET time_zone = '+09:00'"));
    const { at } = await createLimiter('10/h', { store: mysql(other, patient), name: 'zone' }).take('k');
    expect(Math.abs((at ?? 0) - Date.now())).toBeLessThan(60_000);
    await other.promise().end();
  });

  test('deletes expired rows after a hundred writes, and keeps all other rows', async () => {
    await pool.promise().query(migration({ table: 'test.cleaned' }));
    await pool.promise().query("INSERT INTO cleaned VALUES ('old', '', 1, 1), ('live', '', 1, 9e15)");
    const store = mysql(pool, { ...patient, table: 'test.cleaned' });
    const limiter = createLimiter('1000/h', { store, name: 'api' });
    for (let i = 0; i < 100; i++) await limiter.take('k');
    const keys = async () => {
      const [rows] = await pool.promise().query('SELECT `key` FROM cleaned ORDER BY `key`');
      return (rows as { key: Buffer }[]).map(({ key }) => String(key));
    };
    await expect.poll(keys).toEqual(['api:k', 'live']);
  });

  test('if the table is missing, rejects checks with an error that contains the CREATE TABLE statement', async () => {
    const limiter = createLimiter('10/h', {
      store: mysql(pool, { ...patient, table: 'missing' }),
      name: 'api',
    });
    const failure = await limiter.take('k').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SluiceError);
    expect((failure as Error).message).toContain('CREATE TABLE IF NOT EXISTS `missing`');
  });

  test('reports missing privileges, and an unreachable server as a connection fault', async () => {
    await pool.promise().query("CREATE USER reader@'127.0.0.1'");
    await pool.promise().query("GRANT SELECT ON test.* TO reader@'127.0.0.1'");
    const reader = createPool(server.url.replace('sluice:sluice', 'reader'));
    const take = (client: Pool) =>
      createLimiter('10/h', { store: mysql(client, patient), name: 'rights' }).take('k');
    await expect(take(reader)).rejects.toMatchObject({ code: 'ERR_PERMISSION' });
    await expect(take(createPool('mysql://127.0.0.1:1/test'))).rejects.toMatchObject({ fault: 'connection' });
    await reader.promise().end();
  });

  test.each([
    ['an address', 'mysql://localhost/test', 'is an address; pass createPool(address) from mysql2'],
    ['undefined', undefined, 'must be a pool or connection of mysql2'],
    ['a client of the package mysql', { query() {} }, 'is not a client of mysql2'],
    [
      'a client of the package mariadb',
      { query() {}, execute() {}, importFile() {} },
      'is a client of the package mariadb',
    ],
    ['a promise', Promise.resolve(), 'is a promise; await it'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => mysql(given as never)).toThrow(words);
  });
});
