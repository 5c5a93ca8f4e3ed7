// One limit for all processes on a machine, stored in an SQLite file, so that it survives a restart.
//
//   npm run build && node examples/sqlite.mjs

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimiter } from 'sluice';
import { sqlite } from 'sluice/sqlite';

const folder = mkdtempSync(join(tmpdir(), 'limits-'));

async function limiter() {
  const store = sqlite(await opened(join(folder, 'limits.db')), { deadline: '5s' });
  return createLimiter('100/h', { store, name: 'api' });
}

const [one, other] = [await limiter(), await limiter()];
const answers = Array.from({ length: 60 }, () => [one.take('alice'), other.take('alice')]).flat();
const passed = (await Promise.all(answers)).filter(({ allowed }) => allowed);
console.log('120 calls to two limiters:', passed.length, 'passed'); // → 120 calls to two limiters: 100 passed
console.log('after a restart:', (await (await limiter()).peek('alice')).remaining); // → after a restart: 0
rmSync(folder, { recursive: true });

/** Opens the database. SQLite is part of Node since 22.5; with older versions, this example uses SQLite in WebAssembly. */
async function opened(file) {
  const ofNode = await import('node:sqlite').catch(() => undefined);
  if (ofNode) return new ofNode.DatabaseSync(file);
  const { default: wasm } = await import('node-sqlite3-wasm');
  const db = new wasm.Database(file);
  return { exec: (sql) => db.exec(sql), prepare: (sql) => ({ all: (...values) => db.all(sql, values) }) };
}
