/** The loops in which checks are timed. Each process has one contender, so each call site sees only one function. */

import { ownTime } from './own-time.mjs';

/** Stores answers, because the compiler might otherwise remove the work for an answer that is never read. */
let sink;

const CHUNK = 1024;
const keys = Array.from({ length: CHUNK }, () => '');

function chunk({ check, passed }, count) {
  let allowed = 0;
  for (let i = 0; i < count; i++) {
    sink = check(keys[i]);
    if (passed(sink)) allowed++;
  }
  return allowed;
}

async function awaitedChunk({ check, passed }, count) {
  let allowed = 0;
  for (let i = 0; i < count; i++) {
    try {
      sink = await check(keys[i]);
      if (passed(sink)) allowed++;
    } catch (denial) {
      if (denial instanceof Error) throw denial;
    }
  }
  return allowed;
}

/**
 * Checks the keys `keyAt(from)` to `keyAt(to - 1)` until all are done or `patience` milliseconds have passed. The keys of a chunk
 * are created before the chunk is timed, so only the checks are timed.
 */
export async function checkAll(contender, keyAt, from, to, patience = Infinity) {
  const started = performance.now();
  const own = ownTime();
  let [next, allowed, spent] = [from, 0, 0];
  while (next < to && performance.now() - started < patience) {
    const count = Math.min(CHUNK, to - next);
    for (let i = 0; i < count; i++) keys[i] = keyAt(next + i);
    own();
    allowed += contender.awaited ? await awaitedChunk(contender, count) : chunk(contender, count);
    spent += own();
    next += count;
  }
  const checks = next - from;
  return { checks, allowed, nanoseconds: (spent * 1e6) / checks, last: sink };
}
