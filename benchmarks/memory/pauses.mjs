/** Measures the longest check and the longest delay of the event loop while keys are added and expire. */
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { checkAll } from './loop.mjs';
import { ownTime } from './own-time.mjs';
import { keyOf } from './workloads.mjs';

/** Number of checks between two turns of the event loop, so that timers run. Must divide the size of a wave. */
const TURN = 250;
/** Checks shorter than this, in milliseconds, are not corrected for the time spent waiting for a core. */
const LONG = 0.2;
const TICK = 1;

/**
 * Measures pauses. Keys are created one by one, as they would arrive in requests. If the harness held a million keys, each
 * garbage collection would have to mark them, and that pause could not be distinguished from the limiter's.
 */
export async function pauses(contender, { limits, wave, total, warmUp }) {
  const { awaited, check } = contender;
  const spans = new Float64Array(total);
  await checkAll(contender, keyOf, total, total + warmUp);
  global.gc();
  await sleep(limits.window * 1.5);

  // Measures the same as monitorEventLoopDelay, but without the time in which this thread waited for a core (see own-time.mjs).
  let loop = 0;
  const sinceTick = ownTime();
  const ticker = setInterval(() => {
    loop = Math.max(loop, sinceTick() - TICK);
  }, TICK);

  for (let i = 0; i < total; ) {
    const end = Math.min(i + TURN, total);
    const own = ownTime();
    for (; i < end; i++) {
      const key = keyOf(i);
      const before = performance.now();
      if (awaited) await check(key);
      else check(key);
      spans[i] = performance.now() - before;
      // The own time since the last reading is slightly more than this check took, but never less.
      if (spans[i] > LONG) spans[i] = Math.min(spans[i], own());
    }
    if (i % wave === 0) await sleep(limits.window * 1.5);
    else await nextTurn();
  }
  clearInterval(ticker);
  spans.sort();
  return { check: spans.at(-1), tail: spans[Math.floor(total * 0.9999)], loop };
}
