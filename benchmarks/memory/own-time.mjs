/**
 * Time in which this thread ran or could not go on by itself: wall time without the time it waited for a core that other
 * processes had. So a busy machine neither slows a check nor makes a pause. Where the system does not tell (not Linux),
 * it is wall time.
 */
import { closeSync, openSync, readSync } from 'node:fs';

const text = Buffer.alloc(128);

/** Milliseconds spent waiting for a core since the thread began. Costs about 20 µs. */
function waited() {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    const length = readSync(file, text, 0, text.length, 0);
    closeSync(file);
    // Nanoseconds on a core, nanoseconds waiting for one, number of turns.
    return Number(text.latin1Slice(0, length).split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** A stopwatch: each call returns the milliseconds of own time since the last. */
export function ownTime() {
  let [at, idle] = [performance.now(), waited()];
  return () => {
    const [now, nowIdle] = [performance.now(), waited()];
    const spent = now - at - (nowIdle - idle);
    at = performance.now();
    idle = nowIdle;
    return Math.max(0, spent);
  };
}
