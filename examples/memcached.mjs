// One limit for several machines (here two clients) over Memcached. Needs `apt-get install memcached`.
//
//   npm run build && node examples/memcached.mjs

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import memjs from 'memjs';
import { createLimiter } from 'sluice';
import { memcached } from 'sluice/memcached';

// Starts a private server on a free port. In production, connect with memjs.Client.create('cache:11211').
const probe = createServer().listen(0, '127.0.0.1');
await once(probe, 'listening');
const { port } = probe.address();
await new Promise((resolve) => probe.close(resolve));
const server = spawn('memcached', ['-p', port, '-l', '127.0.0.1', '-u', 'root'], { stdio: 'ignore' });
server.once('error', () => {
  console.error('memcached is not installed. On Debian or Ubuntu: sudo apt-get install memcached');
  process.exit(1);
});
process.once('exit', () => server.kill());
const isListening = () =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy())).on('error', () =>
      resolve(false),
    );
  });
while (!(await isListening()) && server.exitCode === null) await sleep(10);

const limiters = [1, 2].map(() => {
  const client = memjs.Client.create(`127.0.0.1:${port}`);
  return createLimiter('100/h', { store: memcached(client, { deadline: '5s' }), name: 'api' });
});
const answers = limiters.flatMap((limiter) => Array.from({ length: 60 }, () => limiter.take('alice')));
const passed = (await Promise.all(answers)).filter(({ allowed }) => allowed);
console.log('120 calls to two limiters:', passed.length, 'passed'); // → 120 calls to two limiters: 100 passed
process.exit(); // also stops the server
