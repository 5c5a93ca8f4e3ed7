// @ts-check
/**
 * A thread that does what it is told by `workerData`: see threads.test.ts. It runs what was built, because Node 20
 * runs no TypeScript.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { concurrency, createLimiter, fixedWindow, gcra, slidingLog } from '../../../dist/index.js';
import { attachSharedMemory } from '../../../dist/stores/shared-memory/index.js';
import { layoutOf } from '../../../dist/stores/shared-memory/layout.js';
import { threadClock } from '../../../dist/stores/shared-memory/thread-clock.js';

const { handle, task, signals, policies, limit, takes } = workerData;

/** Named here, as a policy is functions and cannot be sent. */
const POLICIES = {
  gcra: () => gcra({ limit, per: '365d' }),
  window: () => fixedWindow({ limit, per: '365d', align: 'first' }),
  log: () => slidingLog({ limit, per: '1d' }),
  several: () => ({
    rate: gcra({ limit: 2 * limit, per: '365d' }),
    year: fixedWindow({ limit, per: '365d', align: 'first' }),
  }),
  mixed: () => ({
    year: fixedWindow({ limit, per: '365d', align: 'first' }),
    held: concurrency({ limit: 300, lease: '1s' }),
  }),
  short: () => ({ rate: gcra({ limit: 50, per: '1s' }), held: concurrency({ limit: 30, lease: '1s' }) }),
};

const TASKS = {
  /** Waits until all are there, then takes, and says how many passed. */
  hammer() {
    const limiter = createLimiter(POLICIES[policies](), { store: attachSharedMemory(handle), name: 'test' });
    Atomics.add(signals, 0, 1);
    while (Atomics.load(signals, 0) < 4);
    let admitted = 0;
    for (let i = 0; i < takes; i++) if (limiter.take('one key').allowed) admitted++;
    parentPort?.postMessage(admitted);
  },
  /** Goes on until it is killed. Counts what it was told that it may do. */
  storm() {
    const store = attachSharedMemory(handle);
    const limiter = createLimiter(POLICIES.mixed(), { store, name: 'test' });
    const others = createLimiter(POLICIES.short(), { store, name: 'others' });
    parentPort?.postMessage('ready');
    for (let i = 0; ; i++) {
      if (limiter.take('one key').allowed) Atomics.add(signals, 0, 1);
      others.take(`key ${i % 3000}`);
      if (i % 5 === 0) others.reset(`key ${(i * 7) % 3000}`);
      limiter.release('one key');
    }
  },
  /** Reads the clock while it holds the lock, and does not come back until it is told to. */
  hold() {
    const clock = {
      now() {
        if (Atomics.compareExchange(signals, 0, 0, 1) === 0) Atomics.wait(signals, 1, 0);
        return Date.now();
      },
    };
    const limiter = createLimiter(POLICIES[policies](), {
      store: attachSharedMemory(handle, { clock }),
      name: 'test',
    });
    parentPort?.postMessage(limiter.take('one key').allowed);
  },
  /** Writes the time it reads, whenever it is asked. */
  tick() {
    const now = threadClock(layoutOf(handle));
    const times = new Float64Array(signals.buffer);
    for (let round = 1; ; round++) {
      Atomics.wait(signals, 0, round - 1);
      times[1] = now();
      Atomics.store(signals, 1, round);
      Atomics.notify(signals, 1);
    }
  },
};

TASKS[task]();
