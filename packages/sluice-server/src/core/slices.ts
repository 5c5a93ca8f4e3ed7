/** Long work in small steps, so that listeners answer in between. */

/** Each `next` does a little of the work. */
export type Steps = Generator<void, void>;

/** Milliseconds of work between two turns of the event loop. */
const SLICE = 5;

/** Does all of it synchronously: for a server that answers nobody yet. */
export function runWhole(steps: Steps): void {
  while (!steps.next().done);
}

export async function runInSlices(steps: Steps): Promise<void> {
  let end = performance.now() + SLICE;
  while (!steps.next().done) {
    if (performance.now() < end) continue;
    await nextTurn();
    end = performance.now() + SLICE;
  }
}

/** Resolves when all that was waiting in the event loop has had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
