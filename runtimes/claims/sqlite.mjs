// Runs the conformance suite and the claims about several writers on the SQLite store. Runs on Bun, and on Node 22.5 and newer.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqlite } from 'sluice/sqlite';
import { conformance } from 'sluice/testing';
import { contenders } from './contenders.mjs';
import { judged } from './run.mjs';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const database = process.versions['bun'] ? 'Database' : 'DatabaseSync';
const { [database]: Database } = await import(process.versions['bun'] ? 'bun:sqlite' : 'node:sqlite');
const open = (file, options) =>
  sqlite(new Database(file), { deadline: 5000, onFailure: 'throw', ...options });
const claims = [
  ...conformance((clock) => open(':memory:', { clock })),
  ...contenders(() => open(join(folder, 'limits.db')), true),
];
console.log(JSON.stringify(await judged(claims)));
rmSync(folder, { recursive: true });
