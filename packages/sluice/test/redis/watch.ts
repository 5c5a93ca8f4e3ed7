/** What tests of faults look at: when something came true, how long a check took, what nobody caught. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';

/** Polls until it is true. Returns how long that took. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  within = 10_000,
  every = 5,
): Promise<number> {
  const start = performance.now();
  while (!(await condition())) {
    if (performance.now() - start > within)
      throw new Error(`not true within ${within} ms: ${String(condition)}`);
    await sleep(every);
  }
  return performance.now() - start;
}

export interface Outcome<T> {
  readonly value?: T;
  readonly error?: Error;
  /** From the call to its answer, in milliseconds. */
  readonly took: number;
}

/** How it ended, and when. Never rejects. */
export async function outcome<T>(call: () => T | Promise<T>): Promise<Outcome<T>> {
  const start = performance.now();
  try {
    const value = await call();
    return { value, took: performance.now() - start };
  } catch (error) {
    return { error: error as Error, took: performance.now() - start };
  }
}

/** Counts rejections that nobody handles. */
export function rejections(): { readonly seen: unknown[]; stop(): Promise<void> } {
  const seen: unknown[] = [];
  const listener = (error: unknown): void => {
    seen.push(error);
  };
  process.on('unhandledRejection', listener);
  return {
    seen,
    /** Waits until Node has told of those of this tick. */
    async stop() {
      await sleep(20);
      process.off('unhandledRejection', listener);
    },
  };
}

/**
 * The longest that this process kept a timer waiting: on a busy machine nothing can be more punctual than this, and a
 * hang is still far beyond it.
 */
export function unpunctuality(): { stop(): number } {
  let worst = 0;
  let due = performance.now() + 2;
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - due);
    due = now + 2;
  }, 2);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(worst, performance.now() - due);
    },
  };
}

/** Bytes in use once garbage is gone. */
export function bytesInUse(): number {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Keeps `lanes` calls in flight until there were `total`. */
export async function inFlight(
  lanes: number,
  total: number,
  call: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (next < total) await call(next++);
    }),
  );
}
