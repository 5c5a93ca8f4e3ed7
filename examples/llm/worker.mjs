// @ts-check
// One of the processes that llm-processes.mjs starts, and the limiter that they share.

import { on } from 'node:events';
import { Redis } from 'ioredis';
import { createLimiter } from 'sluice';
import { redis } from 'sluice/redis';

/** Connects to Redis. Ends the process if there is no server. @param {string} url */
export function open(url) {
  const client = new Redis(url);
  client.on('error', () => {
    const { host, port } = client.options;
    console.error(
      `No Redis at ${host}:${port}. Start redis-server, run \`docker run -p 6379:6379 redis\`, or set REDIS_URL`,
    );
    process.exit(1);
  });
  const policies = { requests: '10000/h sliding-log', tokens: '60000/h sliding-log' };
  // The default deadline of 200 ms may be too short for a process that has just started.
  const limiter = createLimiter(policies, { name: 'llm', store: redis(client, { deadline: '5s' }) });
  return { client, limiter };
}

if (process.send) {
  const { limiter } = open(process.argv[2]);
  /** @type {import('sluice').Decision[]} */
  let admitted = [];
  for await (const [step] of on(process, 'message')) {
    if (step === 'take') {
      const calls = Array.from({ length: 64 }, () => limiter.take('acme', { cost: { tokens: 1000 } }));
      admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed);
    } else {
      await Promise.all(admitted.map((of) => limiter.settle('acme', { used: { tokens: 400 }, of })));
    }
    process.send(admitted.length);
  }
}
