/**
 * Epoch milliseconds on which all threads of a process agree.
 *
 * `performance.now()` starts at another instant in each thread, and `timeOrigin`, which says when, is taken from the
 * wall clock, which may have been set in between. Node's `hrtime` is the same in all threads. So the thread that makes
 * the buffer leaves there how far epoch and hrtime are apart, and each thread finds out how far its own clock is off.
 */
import type { Millis } from '../../contract.ts';
import { CLOCK_CELL, type Layout } from './layout.ts';

/** Called by the thread that made the buffer, before any other has it. */
export function setEpoch({ cells }: Layout): void {
  cells[CLOCK_CELL] = performance.timeOrigin - hrtimeAhead();
}

export function threadClock({ cells }: Layout): () => Millis {
  const origin = cells[CLOCK_CELL] + hrtimeAhead();
  return () => origin + performance.now();
}

/** How far hrtime is ahead of performance.now(), in milliseconds: the reading that took least time. */
function hrtimeAhead(): Millis {
  const hrtime = globalThis.process?.hrtime;
  // No Node: browsers start all clocks of a page from one wall clock.
  if (hrtime === undefined) return performance.timeOrigin;
  let [ahead, least] = [0, Infinity];
  for (let i = 0; i < 20; i++) {
    const before = performance.now();
    const [seconds, nanos] = hrtime();
    const after = performance.now();
    if (after - before >= least) continue;
    least = after - before;
    ahead = seconds * 1e3 + nanos / 1e6 - (before + after) / 2;
  }
  return ahead;
}
