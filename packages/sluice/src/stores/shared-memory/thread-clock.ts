/**
 * Epoch milliseconds on which all threads of a process agree.
 *
 * The system clock of a thread starts from `timeOrigin`, which each thread takes from the wall clock when it starts. The wall
 * clock may have been set between the starts of two threads. Node's `hrtime` is the same in all threads. So the thread that
 * creates the buffer stores in the buffer how far its clock is ahead of hrtime, and each thread computes by how much its own clock
 * differs from that thread's clock.
 */
import { systemClock } from '../../internal/clock.ts';
import type { Millis } from '../../engine/contract.ts';
import { CLOCK_CELL, type Layout } from './layout.ts';

/** Must be called by the thread that created the buffer, before any other thread receives it. */
export function setEpoch({ cells }: Layout): void {
  cells[CLOCK_CELL] = aheadOfHrtime();
}

export function threadClock({ cells }: Layout): () => Millis {
  const behind = cells[CLOCK_CELL] - aheadOfHrtime();
  return () => behind + systemClock.now();
}

/** How far this thread's clock is ahead of hrtime, in milliseconds, from the reading that took the least time. */
function aheadOfHrtime(): Millis {
  const hrtime = globalThis.process?.hrtime;
  // No hrtime means that this is a browser, which starts all clocks of a page from one wall clock.
  if (hrtime === undefined) return 0;
  let [ahead, least] = [0, Infinity];
  for (let i = 0; i < 20; i++) {
    const before = systemClock.now();
    const [seconds, nanos] = hrtime();
    const after = systemClock.now();
    if (after - before >= least) continue;
    least = after - before;
    ahead = (before + after) / 2 - (seconds * 1e3 + nanos / 1e6);
  }
  return ahead;
}
