/**
 * A process with one or two threads that check as fast as they can. Usage: threads.mjs <contender> <workload> <scale>
 * Each thread has its own limiter, on shared memory or, if it is the only thread, on its own memory.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { createLimiter, gcra, memory } from 'sluice';
import { attachSharedMemory, sharedMemory } from 'sluice/shared-memory';
import { keyOf } from '../memory/workloads.mjs';

const contenders = {
  memory: { threads: 1, isShared: false },
  'shared 1': { threads: 1, isShared: true },
  'shared 2': { threads: 2, isShared: true },
};
const OPEN = { limit: 1e9, per: '1s' };
/** A limit that each thread would reach by itself, and that is not replenished during the measurement. */
const LIMIT = 100_000;
const workloads = {
  hot: { limits: OPEN, keys: 1 },
  keys: { limits: OPEN, keys: 10_000 },
  limit: { limits: { limit: LIMIT, per: '365d' }, keys: 1 },
};
const SPAN = 400;
const CHUNK = 1000;

function check(limiter, keys, span, least = 0) {
  const started = performance.now();
  let [decisions, allowed, elapsed] = [0, 0, 0];
  let at = Math.floor(Math.random() * keys.length);
  while (elapsed < span || decisions < least) {
    for (let i = 0; i < CHUNK; i++) {
      // Keys are visited with a stride, so that neighbors in the table are not visited one after the other.
      at = (at + 6101) % keys.length;
      if (limiter.take(keys[at]).allowed) allowed++;
    }
    decisions += CHUNK;
    elapsed = performance.now() - started;
  }
  return { decisions, allowed, perSecond: (decisions / elapsed) * 1000 };
}

/** Makes all threads start together. Each thread counts itself and waits for the last one. */
function meet(gate, threads) {
  if (Atomics.add(gate, 0, 1) + 1 === threads) Atomics.notify(gate, 0);
  for (let here = Atomics.load(gate, 0); here < threads; here = Atomics.load(gate, 0))
    Atomics.wait(gate, 0, here, 1);
}

function inThread({ workload, handle, gate, threads, scale }) {
  const { limits, keys: count } = workloads[workload];
  const store = handle === undefined ? memory() : attachSharedMemory(handle);
  const keys = Array.from({ length: count }, (_, index) => keyOf(index));
  check(createLimiter(gcra(limits), { store, name: 'warm-up' }), keys, (SPAN / 2) * scale);
  const limiter = createLimiter(gcra(limits), { store, name: 'measured' });
  meet(gate, threads);
  parentPort.postMessage(check(limiter, keys, SPAN * scale, workload === 'limit' ? LIMIT : 0));
}

async function inProcess(contender, workload, scale) {
  const { threads, isShared } = contenders[contender];
  const handle = isShared ? sharedMemory({ maxKeys: 100_000 }).handle : undefined;
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const task = { workload, handle, gate, threads, scale };
  const answers = Array.from(
    { length: threads },
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker(new URL(import.meta.url), { workerData: task });
        worker.once('message', resolve);
        worker.once('error', reject);
      }),
  );
  const found = await Promise.all(answers);
  const sum = (figure) => found.reduce((total, one) => total + one[figure], 0);
  if (workload !== 'limit' && sum('allowed') < sum('decisions')) throw new Error(`${contender} denied`);
  return { perSecond: sum('perSecond'), over: Math.abs(sum('allowed') - LIMIT) };
}

if (isMainThread) {
  const [contender, workload, scale] = process.argv.slice(2);
  process.send(await inProcess(contender, workload, Number(scale)), () => process.exit());
} else inThread(workerData);
