/**
 * Helpers for fault tests. They measure when a condition became true, how long a check took, and which rejections were not
 * handled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import type { Redis } from 'ioredis';

/** Polls until the condition is true. Returns how long that took, excluding the time for which this machine paused. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  within = 10_000,
  every = 5,
): Promise<number> {
  const start = performance.now();
  const late = unpunctuality();
  const spent = (): number => performance.now() - start - late.total();
  try {
    while (!(await condition())) {
      if (spent() > within)
        throw new Error(`the condition was not met within ${within} ms: ${String(condition)}`);
      await sleep(every);
    }
    return spent();
  } finally {
    late.stop();
  }
}

export interface Outcome<T> {
  readonly value?: T;
  readonly error?: Error;
  /** The time from the call to its answer, in milliseconds. */
  readonly took: number;
}

/** Returns how a call ended and how long it took. Never rejects. */
export async function outcome<T>(call: () => T | Promise<T>): Promise<Outcome<T>> {
  const start = performance.now();
  try {
    const value = await call();
    return { value, took: performance.now() - start };
  } catch (error) {
    return { error: error as Error, took: performance.now() - start };
  }
}

/** The outcomes of `count` simultaneous calls. */
export function outcomes<T>(count: number, call: () => T | Promise<T>): Promise<Outcome<T>[]> {
  return Promise.all(Array.from({ length: count }, () => outcome(call)));
}

/** Calls an unresponsive store repeatedly, until the store's circuit breaker opens. The store's `onFailure` must be 'throw'. */
export async function breakerOpen(call: () => Promise<unknown>): Promise<void> {
  let isOpen = false;
  while (!isOpen) {
    void outcome(call).then(({ error }) => {
      isOpen ||= (error as { fault?: string } | undefined)?.fault === 'circuit-open';
    });
    await sleep(11);
  }
}

/** Records unhandled rejections until `stop` is called. */
export function rejections(): { readonly seen: unknown[]; stop(): Promise<void> } {
  const seen: unknown[] = [];
  const listener = (error: unknown): void => {
    seen.push(error);
  };
  process.on('unhandledRejection', listener);
  return {
    seen,
    /** Waits until Node has reported the unhandled rejections of this tick, and stops recording. */
    async stop() {
      await sleep(20);
      process.off('unhandledRejection', listener);
    },
  };
}

/** A timer that is late by more than this many milliseconds is attributed to the machine. */
const STANDSTILL = 10;

export interface Unpunctuality {
  /**
   * Stops measuring. Returns the maximum sum of the delays of two consecutive timers, including the time that their callbacks took.
   * On a busy machine, an answer may be late by this much; a real hang takes far longer.
   */
  stop(): number;
  /** The sum of all delays of timers so far. */
  total(): number;
  /** The maximum CPU time between two ticks, which is an upper bound of the delay that this process itself caused. */
  busiest(): number;
}

export function unpunctuality(): Unpunctuality {
  let [worst, last, sum, busiest] = [0, 0, 0, 0];
  let due = performance.now() + 2;
  let burnt = process.cpuUsage();
  const overdue = (now = performance.now()): number => Math.max(0, now - due);
  const counted = (late: number): number => (late > STANDSTILL ? late : 0);
  const timer = setInterval(() => {
    // Read the clock first, so that the delay of the next tick includes the time that this callback takes.
    const now = performance.now();
    const late = overdue(now);
    due = now + 2;
    worst = Math.max(worst, last + late);
    last = late;
    sum += counted(late);
    const { user, system } = process.cpuUsage(burnt);
    busiest = Math.max(busiest, (user + system) / 1000);
    burnt = process.cpuUsage();
  }, 2);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(worst, last + overdue());
    },
    total: () => sum + counted(overdue()),
    busiest: () => busiest,
  };
}

/**
 * Repeats a test that failed while this machine paused for more than `standstill` milliseconds, because such a failure proves
 * nothing. A failure without such a pause is final. The test can report pauses of other processes, such as a server.
 */
export async function punctually<T>(
  standstill: number,
  run: (reportPause: (duration: number) => void) => Promise<T>,
): Promise<T> {
  for (let triesLeft = 4; ; triesLeft--) {
    const late = unpunctuality();
    let longestPause = 0;
    try {
      return await run((duration) => (longestPause = Math.max(longestPause, duration)));
    } catch (error) {
      if (Math.max(late.total(), longestPause) < standstill || triesLeft === 0) throw error;
    } finally {
      late.stop();
    }
  }
}

/** Waits until a replica has received everything that its master wrote before this call. */
export async function replicated(master: Redis, replica: Redis): Promise<void> {
  const offsetOf = async (server: Redis, field: string): Promise<number> =>
    Number(new RegExp(`^${field}:(\\d+)`, 'm').exec(await server.info('replication'))?.[1]);
  const said = await offsetOf(master, 'master_repl_offset');
  await until(async () => (await offsetOf(replica, 'slave_repl_offset')) >= said);
}

/** Bytes of memory in use after a garbage collection. */
export function bytesInUse(): number {
  setFlagsFromString('--expose_gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Keeps `lanes` calls in flight until `total` calls were made. */
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
