// One limit for all Deno processes, stored in Deno KV. Node only starts Deno here. Start your program with `deno run
// --unstable-kv`, and import 'npm:sluice'.
//
//   npm run build && node examples/deno-kv.mjs

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { createLimiter } from 'sluice';
import { denoKv } from 'sluice/deno-kv';

if (globalThis.Deno === undefined) {
  const deno = join(import.meta.dirname, '../node_modules/.bin/deno'); // installed by npm
  const flags = ['--no-check', '--node-modules-dir=manual', '--unstable-kv', '--allow-all'];
  const { error, status } = spawnSync(deno, ['run', ...flags, import.meta.filename], { stdio: 'inherit' });
  if (error) console.error('Deno is not installed: run `npm ci` at the root of the repository');
  process.exit(status ?? 1);
}

const folder = mkdtempSync(join(tmpdir(), 'limits-'));
const kvs = await Promise.all([1, 2].map(() => Deno.openKv(join(folder, 'limits.db'))));
const limiters = kvs.map((kv) =>
  createLimiter('100/h', { store: denoKv(kv, { deadline: '5s' }), name: 'api' }),
);
const answers = limiters.flatMap((limiter) => Array.from({ length: 60 }, () => limiter.take('alice')));
const passed = (await Promise.all(answers)).filter(({ allowed }) => allowed);
console.log('120 calls to two limiters:', passed.length, 'passed'); // → 120 calls to two limiters: 100 passed
for (const kv of kvs) kv.close();
rmSync(folder, { recursive: true });
