/** The loops in which checks are timed. Each process has one contender, so each call site sees only one function. */

import { ownTime } from './own-time.mjs';

/** Stores answers, because the compiler might otherwise remove the work for an answer that is never read. */
let sink;

const CHUNK = 4096;

function chunk({ check, passed }, keys, order, from, to) {
  let allowed = 0;
  for (let i = from; i < to; i++) {
    sink = check(keys[order[i]]);
    if (passed(sink)) allowed++;
  }
  return allowed;
}

async function awaitedChunk({ check, passed }, keys, order, from, to) {
  let allowed = 0;
  for (let i = from; i < to; i++) {
    try {
      sink = await check(keys[order[i]]);
      if (passed(sink)) allowed++;
    } catch (denial) {
      if (denial instanceof Error) throw denial;
    }
  }
  return allowed;
}

/** Checks keys in the given order until all of them are checked or `patience` milliseconds have passed. */
export async function checkAll(contender, keys, order, patience = Infinity) {
  const started = performance.now();
  const own = ownTime();
  let [checks, allowed, elapsed] = [0, 0, 0];
  while (checks < order.length && elapsed < patience) {
    const to = Math.min(checks + CHUNK, order.length);
    allowed += contender.awaited
      ? await awaitedChunk(contender, keys, order, checks, to)
      : chunk(contender, keys, order, checks, to);
    checks = to;
    elapsed = performance.now() - started;
  }
  return { checks, allowed, nanoseconds: (own() * 1e6) / checks, last: sink };
}
