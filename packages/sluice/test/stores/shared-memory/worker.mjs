// @ts-check
/**
 * A thread that runs the task in `workerData` for threads.test.ts and take-many.test.ts. It imports the built package,
 * because Node 20 cannot run TypeScript.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { concurrency, createLimiter, fixedWindow, gcra, slidingLog } from '../../../dist/index.js';
import { attachSharedMemory } from '../../../dist/stores/shared-memory/index.js';
import { layoutOf } from '../../../dist/stores/shared-memory/layout.js';
import { threadClock } from '../../../dist/stores/shared-memory/thread-clock.js';

const { handle, task, signals, policies, limit, takes } = workerData;

/** Policies by name, because a policy contains functions and cannot be sent to a thread. */
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
  /** Waits until all threads are ready, then takes, and reports how many takes were allowed. */
  hammer() {
    const limiter = createLimiter(POLICIES[policies](), { store: attachSharedMemory(handle), name: 'test' });
    Atomics.add(signals, 0, 1);
    while (Atomics.load(signals, 0) < 4);
    let admitted = 0;
    for (let i = 0; i < takes; i++) if (limiter.take('one key').allowed) admitted++;
    parentPort?.postMessage(admitted);
  },
  /**
   * In each round, takes from two shared keys and from one key of its own until it is denied. The threads list the shared
   * keys in different orders. Reports how many takes were allowed, and how many of them after a denial.
   */
  many() {
    const limiter = createLimiter(POLICIES[policies](), { store: attachSharedMemory(handle), name: 'test' });
    const thread = Atomics.add(signals, 0, 1);
    while (Atomics.load(signals, 0) < workerData.threads);
    const report = { admitted: 0, late: 0, atomic: true };
    for (let round = 0; round < workerData.rounds; round++) {
      const shared = [{ key: `organization ${round}` }, { key: `team ${round}` }];
      const items = [
        ...(thread % 2 === 0 ? shared : shared.reverse()),
        { key: `user ${thread} ${round}`, cost: 0.5 },
      ];
      for (let denials = 0; denials < 3; ) {
        const { allowed, atomic } = limiter.takeMany(items);
        if (!atomic) report.atomic = false;
        if (!allowed) denials++;
        else if (denials > 0) report.late++;
        if (allowed) report.admitted++;
      }
    }
    parentPort?.postMessage(report);
  },
  /** Takes until the thread is terminated, and counts the takes that were allowed. */
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
  /** Reads a clock that blocks while the thread holds the lock, until the test lets it continue. */
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
  /** Writes the time that the thread reads, whenever the test asks for it. */
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
