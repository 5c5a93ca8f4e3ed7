/** Splits long work into small steps, so that listeners can answer in between. */

/** Work that is split into small steps. Each call of `next` does one step. */
export type Steps = Generator<void, void>;

/** Maximum number of milliseconds to work before yielding to the event loop. */
const SLICE = 5;

/** Runs all steps synchronously, for a server that has no clients yet. */
export function runWhole(steps: Steps): void {
  while (!steps.next().done);
}

/** Runs the steps, yielding to the event loop every few milliseconds. */
export async function runInSlices(steps: Steps): Promise<void> {
  let end = performance.now() + SLICE;
  while (!steps.next().done) {
    if (performance.now() < end) continue;
    await nextTurn();
    end = performance.now() + SLICE;
  }
}

/** Resolves after the event loop has processed everything that was pending. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
