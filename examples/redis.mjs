// @ts-check
// One limit for several machines (here three processes) over Redis or Valkey. Needs a server and `npm install ioredis`.
//
//   npm run build && REDIS_URL=redis://localhost:6379 node examples/redis.mjs

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { createLimiter } from 'sluice';
import { redis } from 'sluice/redis';

const url = process.env['REDIS_URL'] ?? 'redis://localhost:6379';
const client = new Redis(url, { lazyConnect: true });
client.on('error', () => {}); // it reconnects by itself
await client.connect().catch(() => {
  const { host, port } = client.options;
  console.error(
    `No Redis at ${host}:${port}. Start redis-server, run \`docker run -p 6379:6379 redis\`, or set REDIS_URL`,
  );
  process.exit(1);
});
const limiter = createLimiter('100/h', {
  name: 'example',
  store: redis(client, {
    deadline: '5s', // the default, 200 ms, may be too short for a process that has just started
    onFailure: { local: 1 / 3 }, // while Redis is down, each process admits a third of the limit
  }),
});

if (process.send) {
  const decisions = await Promise.all(Array.from({ length: 60 }, () => limiter.take('alice')));
  process.send(decisions.filter(({ allowed }) => allowed).length);
} else {
  await limiter.reset('alice');
  const machines = Array.from({ length: 3 }, () => fork(new URL(import.meta.url)));
  const counts = await Promise.all(machines.map(async (machine) => (await once(machine, 'message'))[0]));
  console.log(counts.length, 'processes made 180 calls'); // → 3 processes made 180 calls
  console.log(`${counts.reduce((sum, count) => sum + count)} passed`); // → 100 passed
}
client.disconnect();
