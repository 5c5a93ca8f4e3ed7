// Runs the conformance suite and the race tests on the example store for node:sqlite. Runs only on Node 22.5 and newer.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { casStore } from 'sluice';
import { conformance } from 'sluice/testing';
import { races } from './races.mjs';
import { judged } from './run.mjs';
import { sqlite } from './stores/sqlite.mjs';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sqlite-'));
const open = (file = ':memory:') => sqlite(new DatabaseSync(file));
const claims = [
  ...conformance((clock) => casStore(open(), { clock, deadline: 5000 })),
  ...races(() => open(join(folder, 'races.db'))),
];
console.log(JSON.stringify(await judged(claims)));
rmSync(folder, { recursive: true });
