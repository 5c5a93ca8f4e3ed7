// @ts-check
// One limit for several machines (here two connections) over Memcached. Needs `apt-get install memcached`.
//
//   npm run build && node examples/memcached.mjs

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { casStore, createLimiter } from 'sluice';
import { memcached } from './stores/memcached.mjs';

// A private server on a private socket. In production: memcached({ host: 'cache', port: 11211 })
const folder = mkdtempSync(join(tmpdir(), 'limits-'));
const path = join(folder, 'memcached.sock');
const server = spawn('memcached', ['-s', path, '-u', 'root'], { stdio: ['ignore', 'ignore', 'inherit'] });
server.once('error', () => {
  console.error('memcached is not installed. On Debian or Ubuntu: sudo apt-get install memcached');
  process.exit(1);
});
process.once('exit', () => {
  server.kill();
  rmSync(folder, { recursive: true });
});
while (!existsSync(path) && server.exitCode === null) await sleep(10);

const limiters = [1, 2].map(() =>
  createLimiter('100/h', { store: casStore(memcached({ path }), { deadline: '5s' }), name: 'api' }),
);
const answers = limiters.flatMap((limiter) => Array.from({ length: 60 }, () => limiter.take('alice')));
const passed = (await Promise.all(answers)).filter(({ allowed }) => allowed);
console.log('120 calls to two limiters:', passed.length, 'passed'); // → 120 calls to two limiters: 100 passed
process.exit(); // also stops the server
