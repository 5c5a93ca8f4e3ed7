// @ts-check
/**
 * A separate process that runs jobs in the places of a limiter on Redis. places.test.ts starts it and
 * controls it by messages. It imports the built package, because Node 20 cannot run TypeScript.
 *
 * argv: the port of Redis.
 * Message: { name, limit, lease, job, lanes, span }: for `span` milliseconds, `lanes` callers run jobs of `job` milliseconds.
 * Answer: { turns, most }: how many jobs ran here, and the most that ran at the same time in all processes.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const { concurrency, createLimiter } = await import('../../../dist/index.js');
const { redis } = await import('../../../dist/stores/redis/index.js');

const client = new Redis({ port: Number(process.argv[2]) });
const store = redis(client, { deadline: '20s' });

async function run({ name, limit, lease, job, lanes, span }) {
  const limiter = createLimiter(concurrency({ limit, lease }), { store, name });
  const end = performance.now() + span;
  let turns = 0;
  let most = 0;
  async function work() {
    most = Math.max(most, await client.incr(`${name} inside`));
    turns++;
    await sleep(job);
    await client.decr(`${name} inside`);
  }
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (performance.now() < end) {
        const timeout = Math.max(1, end - performance.now());
        await limiter.run('key', work, { timeout }).catch((error) => {
          if (error.code !== 'ERR_DENIED') throw error;
        });
      }
    }),
  );
  return { turns, most };
}

process.on('message', (message) => void run(message).then((answer) => process.send?.(answer)));
await client.ping();
process.send?.('ready');
