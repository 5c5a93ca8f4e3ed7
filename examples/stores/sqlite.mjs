// @ts-check
// SQLite as a store. All processes on a machine share one limit, which survives a restart.
//
//   import { DatabaseSync } from 'node:sqlite';            // Node 22.5 or newer; or better-sqlite3
//   import { casStore, createLimiter } from 'sluice';
//
//   const store = casStore(sqlite(new DatabaseSync('limits.db')));
//   const limiter = createLimiter('100/min', { store, name: 'api' });

/**
 * @param {{ exec(sql: string): unknown, prepare(sql: string): { get(...values: any[]): any, run(...values: any[]): any } }} db
 * @returns {import('sluice/store').CasService<number>}
 */
export function sqlite(db) {
  // Another process may be writing, so wait for it, but not longer than the store's deadline.
  db.exec(`PRAGMA busy_timeout = 100;
    CREATE TABLE IF NOT EXISTS sluice (key TEXT PRIMARY KEY, value BLOB, version INTEGER, expires REAL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sluice_expires ON sluice (expires)`);
  const read = db.prepare('SELECT value, version FROM sluice WHERE key = ?');
  const insert = db.prepare('INSERT INTO sluice VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING');
  const update = db.prepare(
    'UPDATE sluice SET value = ?, version = ?, expires = ? WHERE key = ? AND version = ?',
  );
  const clean = db.prepare(
    'DELETE FROM sluice WHERE key IN (SELECT key FROM sluice WHERE expires < ? LIMIT 100)',
  );
  let writes = 0;

  return {
    get: (key) => read.get(key),
    put(key, value, version, expiresInMs) {
      // Expired rows may be read until they are deleted, but casStore treats them as fully replenished.
      if (++writes % 50 === 0) clean.run(Date.now());
      const next = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
      const expires = Date.now() + expiresInMs;
      if (version === undefined) return Number(insert.run(key, value, next, expires).changes) === 1;
      return Number(update.run(value, next, expires, key, version).changes) === 1;
    },
  };
}
