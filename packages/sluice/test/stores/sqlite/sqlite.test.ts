/**
 * Tests the SQLite store on SQLite in WebAssembly, because not every supported version of Node has node:sqlite, and in two
 * Bun processes. test/packaging/runtimes.test.ts tests node:sqlite and bun:sqlite.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'node-sqlite3-wasm';
import { afterAll, describe, expect, test } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { sqlite } from '../../../src/stores/sqlite/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';
import { admittedByTwo, BUN } from '../writers.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const patient = { deadline: '30s', onFailure: 'throw' } as const;
const databases: sqlite3.Database[] = [];

/** Opens a database. Returns it together with the interface that node:sqlite and better-sqlite3 have. */
function open(file = ':memory:') {
  const db = new sqlite3.Database(file);
  databases.push(db);
  const prepare = (sql: string) => ({ all: (...values: (string | number)[]) => db.all(sql, values) });
  return { db, database: { exec: (sql: string) => db.exec(sql), prepare } };
}

afterAll(() => {
  for (const db of databases) db.close();
  rmSync(folder, { recursive: true });
});

describe('the SQLite store', () => {
  for (const claim of conformance((clock) => sqlite(open().database, { ...patient, clock })))
    test(claim.name, claim.run);

  const file = join(folder, 'limits.db');
  for (const claim of contenders(() => sqlite(open(file).database, patient), true))
    test(claim.name, claim.run);

  test('admits exactly the limit in two Bun processes that share a file', async () => {
    const shared = join(folder, 'processes.db');
    expect(await admittedByTwo(BUN, 'bun-sqlite', shared)).toEqual({ oneKey: 500, manyKeys: 100 });
  }, 60_000);

  test('deletes expired rows after a hundred writes, and keeps all other rows', async () => {
    const { db, database } = open();
    const limiter = createLimiter('1000/h', { store: sqlite(database, patient), name: 'api' });
    await limiter.take('k');
    db.run("INSERT INTO sluice VALUES ('old', '', '1', ?), ('live', '', '1', ?)", [
      Date.now() - 1,
      Date.now() + 60_000,
    ]);
    for (let i = 0; i < 100; i++) await limiter.take('k');
    await limiter.peek('k');
    expect(db.all('SELECT key FROM sluice ORDER BY key').map(({ key }) => key)).toEqual(['api:k', 'live']);
  });

  test('decides again when another connection has locked the file, and charges once', async () => {
    const locked = join(folder, 'locked.db');
    const limiter = createLimiter('10/h', { store: sqlite(open(locked).database, patient), name: 'api' });
    await limiter.take('k');
    const { db } = open(locked);
    db.exec('BEGIN IMMEDIATE');
    const take = limiter.take('k');
    await new Promise((resolve) => setTimeout(resolve, 50));
    db.exec('COMMIT');
    expect((await take).remaining).toBe(8);
  });

  test('uses the table that the option names', async () => {
    const { db, database } = open();
    await createLimiter('10/h', {
      store: sqlite(database, { ...patient, table: 'limits' }),
      name: 'api',
    }).take('k');
    expect(db.all('SELECT key FROM limits')).toEqual([{ key: 'api:k' }]);
    expect(() => sqlite(database, { table: 'my limits' })).toThrow('must consist of letters, digits and _;');
  });

  test.each([
    ['a path', 'limits.db', 'is a path; pass a database'],
    ['a class', sqlite3.Database, 'is a function; pass a database'],
    ['undefined', undefined, 'must be a DatabaseSync of node:sqlite'],
    ['a D1 database', { prepare() {}, batch() {}, exec() {} }, "use d1(database) from 'sluice/d1'"],
    ['a sqlite3 database', { prepare() {}, each() {}, exec() {} }, 'whose calls need callbacks'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => sqlite(given as never)).toThrow(words);
  });
});
