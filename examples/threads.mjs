// @ts-check
// One limit for all worker threads of a process. Its state is in shared memory, so decisions are synchronous.
//
//   npm run build && node examples/threads.mjs

import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createLimiter } from 'sluice';
import { attachSharedMemory, sharedMemory } from 'sluice/shared-memory';

if (isMainThread) {
  const store = sharedMemory({ maxKeys: 10_000 });
  const threads = Array.from(
    { length: 4 },
    () => new Worker(new URL(import.meta.url), { workerData: store.handle }),
  );
  const counts = await Promise.all(threads.map(async (thread) => (await once(thread, 'message'))[0]));
  console.log(counts.length, 'threads made 4000 calls'); // → 4 threads made 4000 calls
  console.log(
    counts.reduce((sum, count) => sum + count),
    'passed',
  ); // → 1000 passed
} else {
  const limiter = createLimiter('1000/h', { store: attachSharedMemory(workerData), name: 'api' });
  let passed = 0;
  for (let i = 0; i < 1000; i++) if (limiter.take('alice').allowed) passed++;
  parentPort?.postMessage(passed);
}
