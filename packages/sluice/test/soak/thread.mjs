// @ts-check
/** A thread that takes from a key in shared memory and reports the results. It uses the built files, because Node 20 cannot run TypeScript. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { createLimiter, gcra } from '../../dist/index.js';
import { attachSharedMemory } from '../../dist/stores/shared-memory/index.js';

const { handle, limit } = workerData;
const limiter = createLimiter(gcra({ limit, per: '1s' }), {
  store: attachSharedMemory(handle),
  name: 'soak',
});
/** Milliseconds by a clock that is the same in all threads. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

for (;;) {
  const takes = [];
  for (let i = 0; i < 100; i++) {
    const asked = now();
    const { taken } = limiter.take('key', 1 + (i % 3));
    takes.push([asked, now(), taken]);
  }
  parentPort?.postMessage(takes);
  await sleep(60);
}
