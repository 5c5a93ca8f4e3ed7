// @ts-check
// Four processes share 60,000 tokens over Redis or Valkey. In each round, each process requests 64 calls, each with an estimate
// of 1,000 tokens. When all takes have been answered, the admitted calls are settled: each has used 400 tokens.
//
//   npm run build && REDIS_URL=redis://localhost:6379 node examples/llm-processes.mjs

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { open } from './llm/worker.mjs';

const url = process.env['REDIS_URL'] ?? 'redis://localhost:6379';
const { client, limiter } = open(url);
await limiter.reset('acme');
const workers = Array.from({ length: 4 }, () => fork(new URL('./llm/worker.mjs', import.meta.url), [url]));

/** The number of admitted calls. @param {'take' | 'settle'} step @returns {Promise<number>} */
async function inAllProcesses(step) {
  const answers = workers.map((worker) => once(worker, 'message'));
  for (const worker of workers) worker.send(step);
  return (await Promise.all(answers)).reduce((sum, [count]) => sum + count, 0);
}

let used = 0;
for (let round = 1; round <= 4; round++) {
  const calls = await inAllProcesses('take');
  const charged = used + calls * 1000;
  await inAllProcesses('settle');
  used += calls * 400;
  const [, { limit, remaining }] = (await limiter.peek('acme')).policies;
  console.log(`${calls} calls: charged ${charged}, used ${used}, peek ${limit - remaining}`);
}
// → 60 calls: charged 60000, used 24000, peek 24000
// → 36 calls: charged 60000, used 38400, peek 38400
// → 21 calls: charged 59400, used 46800, peek 46800
// → 13 calls: charged 59800, used 52000, peek 52000

for (const worker of workers) worker.kill();
client.disconnect();
