/** Threads that share a key in shared memory. Some are terminated, perhaps while they hold a lock, and replaced. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { Ledger, steadily } from './ledger.ts';
import { checkLedger } from './limit-scenarios.ts';
import type { Backend, Scenario } from './scenario.ts';
import { type FaultInjector, faultInjector } from './fault-injection.ts';

const LIMIT = 5000;
/** Milliseconds by which the clocks of two threads may differ. */
const CLOCK_DIFFERENCE = 0.05;

export interface Threads {
  readonly injector: FaultInjector;
  readonly scenario: Scenario;
}

export function threads(): Threads {
  const scenario = 'shared memory: threads';
  const store = sharedMemory({ maxKeys: 100 });
  const ledger = new Ledger({
    burst: LIMIT,
    rate: LIMIT / 1000,
    behind: CLOCK_DIFFERENCE,
    grain: CLOCK_DIFFERENCE,
    late: 0,
  });
  const workers: Worker[] = [];
  let startThread = (): void => {};
  return {
    injector: faultInjector(
      () => ({
        'thread ended': {
          async inject() {
            await workers.shift()?.terminate();
            startThread();
          },
        },
      }),
      1500,
    ),
    async scenario(run) {
      startThread = () => {
        const worker = new Worker(new URL('./thread.mjs', import.meta.url), {
          workerData: { handle: store.handle, limit: LIMIT },
        });
        workers.push(worker);
        worker.on('error', (error) => run.violation(scenario, String(error)));
        worker.on('message', (takes: readonly (readonly [number, number, number])[]) => {
          for (const [asked, told, units] of takes) {
            if (ledger.isFull) checkLedger(run, scenario, ledger, []);
            if (units > 0) ledger.add(steadily(asked), steadily(told), units);
            else run.denied(scenario);
          }
          run.checked(scenario, takes.length);
        });
      };
      for (let i = 0; i < 2; i++) startThread();
      while (!run.isOver()) await sleep(50);
      startThread = () => {};
      await Promise.all(workers.map((worker) => worker.terminate()));
      checkLedger(run, scenario, ledger, []);
    },
  };
}

/** A backend without injected faults: only other threads could cause faults. */
export const sharedMemoryBackend: Backend = {
  name: 'shared memory',
  isInOrder: true,
  injector: faultInjector(() => ({})),
  connect: () => ({
    store({ clock }) {
      const store = sharedMemory({ maxKeys: 100, ...(clock === undefined ? {} : { clock }) });
      return { ...store, apply: async (hit) => store.apply(hit) };
    },
    close: () => {},
  }),
  rows: async () => 0,
  stop: async () => {},
};
