/** Threads on one key in shared memory. Now and then one is ended, maybe while it holds a lock, and another begins. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { Book, steadily } from './book.ts';
import { settle } from './bound-scenes.ts';
import type { Backend, Scene } from './scene.ts';
import { type Trouble, troubleBy } from './trouble.ts';

const LIMIT = 5000;
/** Threads agree on the time to so many milliseconds. */
const AGREED = 0.05;

export interface Threads {
  readonly trouble: Trouble;
  readonly scene: Scene;
}

export function threads(): Threads {
  const scene = 'shared memory: threads';
  const store = sharedMemory({ maxKeys: 100 });
  const book = new Book({ burst: LIMIT, rate: LIMIT / 1000, behind: AGREED, grain: AGREED, late: 0 });
  const workers: Worker[] = [];
  let begin = (): void => {};
  return {
    trouble: troubleBy(
      () => ({
        'thread ended': {
          async act() {
            await workers.shift()?.terminate();
            begin();
          },
        },
      }),
      1500,
    ),
    async scene(stage) {
      begin = () => {
        const worker = new Worker(new URL('./thread.mjs', import.meta.url), {
          workerData: { handle: store.handle, limit: LIMIT },
        });
        workers.push(worker);
        worker.on('error', (error) => stage.wrong(scene, String(error)));
        worker.on('message', (takes: readonly (readonly [number, number, number])[]) => {
          for (const [asked, told, units] of takes) {
            if (book.isFull) settle(stage, scene, book, []);
            if (units > 0) book.add(steadily(asked), steadily(told), units);
            else stage.denied(scene);
          }
          stage.checked(scene, takes.length);
        });
      };
      for (let i = 0; i < 2; i++) begin();
      while (!stage.isOver()) await sleep(50);
      begin = () => {};
      await Promise.all(workers.map((worker) => worker.terminate()));
      settle(stage, scene, book, []);
    },
  };
}

/** Without other threads nothing happens to it. */
export const sharedMemoryBackend: Backend = {
  name: 'shared memory',
  isInOrder: true,
  trouble: troubleBy(() => ({})),
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
