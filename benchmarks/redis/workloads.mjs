/** Keys, limits, and the checks made before the measurement, which are the same in every process. */
import { keyOf } from '../memory/workloads.mjs';

const DAY = 86_400_000;
/** Limits that never deny. A key stays live longer than any run, so no contender saves work by dropping keys. */
const OPEN = { limit: 1e9, rate: 1000, window: DAY };
const SHUT = { limit: 10, rate: 10, window: DAY };

const keysOf = (count, from = 0) => Array.from({ length: count }, (_, index) => keyOf(from + index));
const anyOf = (keys) => () => keys[Math.floor(Math.random() * keys.length)];
const inTurn = (keys) => {
  let at = 0;
  return () => keys[at++ % keys.length];
};
/** Creates new keys that differ between processes. */
function everNew() {
  let at = process.pid * 1_000_000;
  return () => keyOf(at++);
}

/**
 * Workloads by name. Each key of `first` is checked `times` times beforehand; then `next` returns the key of each check.
 */
export const workloads = {
  live: {
    label: 'live',
    make(scale) {
      const keys = keysOf(10_000 * scale);
      return { limits: OPEN, first: keys, times: 1, next: anyOf(keys), open: true };
    },
  },
  idle: { label: 'idle', make: () => ({ limits: OPEN, first: [], times: 0, next: everNew(), open: true }) },
  denied: {
    label: 'denied',
    make() {
      const keys = keysOf(100);
      return { limits: SHUT, first: keys, times: SHUT.limit, next: anyOf(keys), open: false };
    },
  },
};

export const bytes = (scale) => ({
  limits: OPEN,
  next: inTurn(keysOf(100_000 * scale)),
  count: 100_000 * scale,
});

/** One key with a number of recorded actions, below or at its limit. */
export const log = (room, scale) => {
  const actions = 10_000 * scale;
  return { limits: { limit: room ? actions * 10 : actions, rate: 1, window: DAY }, key: keyOf(0), actions };
};

/** A key that admits one unit per millisecond. With injected latency, units are replenished during a round trip. */
export const spent = () => ({ limits: { limit: 1000, rate: 1000, window: 1000 }, key: keyOf(0) });
