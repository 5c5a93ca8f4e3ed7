/** Tests examples/stores/sqlite.mjs on SQLite in WebAssembly, because not every supported version of Node has node:sqlite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sqlite3 from 'node-sqlite3-wasm';
import { afterAll, describe, expect, test } from 'vitest';
import { casStore, createLimiter, slidingLog } from '../../../src/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { races } from './races.ts';
import { type AnyService, example } from './services.ts';

const { sqlite } = await example('sqlite.mjs');
const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const patient = { deadline: '30s', onFailure: 'throw' } as const;
const databases: sqlite3.Database[] = [];

function open(file = ':memory:') {
  const db = new sqlite3.Database(file);
  databases.push(db);
  // The same interface as node:sqlite and better-sqlite3: values are separate arguments, and a finished statement does not lock
  // the file.
  const prepare = (sql: string) => ({
    get: (...values: sqlite3.JSValue[]) => db.get(sql, values) ?? undefined,
    run: (...values: sqlite3.JSValue[]) => db.run(sql, values),
  });
  return { db, service: sqlite?.({ exec: (sql: string) => db.exec(sql), prepare }) as AnyService };
}

afterAll(() => {
  for (const db of databases) db.close();
  rmSync(folder, { recursive: true });
});

describe('SQLite', () => {
  for (const claim of conformance((clock) => casStore(open().service, { ...patient, clock })))
    test(claim.name, claim.run);

  for (const claim of races(() => open(join(folder, 'races.db')).service)) test(claim.name, claim.run);

  test('admits exactly the limit for two connections to one file, and nothing for a third', async () => {
    const file = join(folder, 'limits.db');
    const limiterOn = () =>
      createLimiter(slidingLog({ limit: 60, per: '1d' }), {
        store: casStore(open(file).service, patient),
        name: 'api',
      });
    let admitted = 0;
    await Promise.all(
      [limiterOn(), limiterOn()].map(async (limiter) => {
        for (let i = 0; i < 40; i++) {
          const { allowed } = await limiter.take('k');
          if (allowed) admitted++;
        }
      }),
    );
    expect(admitted).toBe(60);
    expect((await limiterOn().take('k')).allowed).toBe(false);
  });

  test('deletes expired rows after at most fifty writes', async () => {
    const { db, service } = open();
    const limiter = createLimiter('1000/h', { store: casStore(service, patient), name: 'api' });
    db.run("INSERT INTO sluice VALUES ('old', x'00', 1, ?), ('live', x'00', 1, ?)", [
      Date.now() - 1,
      Date.now() + 60_000,
    ]);
    for (let i = 0; i < 50; i++) await limiter.take('k');
    expect(db.all('SELECT key FROM sluice ORDER BY key').map(({ key }) => key)).toEqual(['api:k', 'live']);
  });
});
