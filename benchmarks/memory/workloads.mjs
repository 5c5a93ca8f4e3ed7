/** Keys, the order in which they are checked, and their limits, which are the same in every process. */

const DAY = 86_400_000;
/** Limits that never deny. A key stays live for 86 s, longer than any run, so no contender saves work by dropping keys. */
const OPEN = { limit: 1e9, rate: 1000, window: DAY };
const SHUT = { limit: 10, rate: 10, window: DAY };

const SYLLABLES = Array.from({ length: 2048 }, (_, index) => index.toString(36).padStart(3, 'x'));

/**
 * Creates a key of 12 characters at run time, so that keys are flat strings on the heap that are neither internalized nor hashed
 * before their first check. Multiplying by an odd number modulo 2^32 makes them distinct without a Set, which would hash them.
 */
export function keyOf(index) {
  const bits = Math.imul(index, 0x9e3779b1);
  return `ip:${SYLLABLES[bits >>> 22]}${SYLLABLES[(bits >>> 11) & 2047]}${SYLLABLES[bits & 2047]}`;
}

function keysOf(count, from = 0) {
  const keys = [];
  for (let index = from; index < from + count; index++) keys.push(keyOf(index));
  return keys;
}

/** Several string objects for each key, because every request brings its key as a new string. */
const copiesOf = (count, copies) =>
  Array.from({ length: count * copies }, (_, index) => keyOf(index % count));

/** The random number generator mulberry32. Every contender gets the same sequence. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function orderBy(length, next) {
  const order = new Uint32Array(length);
  for (let i = 0; i < length; i++) order[i] = next(i);
  return order;
}

export const inOrder = (count) => orderBy(count, (index) => index);

function evenly(keys, length) {
  const random = randomFrom(1);
  return orderBy(length, () => Math.floor(random() * keys));
}

/**
 * A Zipf distribution with exponent 1, by the inverse of its distribution function. Ranks are scattered, so popular keys are not
 * neighbors.
 */
function zipf(keys, length) {
  const random = randomFrom(2);
  return orderBy(length, () => ((Math.floor((keys + 1) ** random()) - 1) * 611_953) % keys);
}

const steady = (keys, limits, checks) => ({
  limits,
  keys,
  warmUp: evenly(keys.length, checks >> 2),
  order: evenly(keys.length, checks),
});

/** A workload in which every key exists before the measurement, and is checked until all code is compiled. */
const filled = (count, orderOf, checks) => ({
  limits: OPEN,
  keys: keysOf(count),
  fill: inOrder(count),
  warmUp: orderOf(count, checks >> 2),
  order: orderOf(count, checks),
});

/** Workloads by name. `scale` is smaller for a quick run. A `whole` run must not be cut short. */
export const workloads = {
  hot: { label: 'hot key', make: (scale) => steady(copiesOf(1, 1024), OPEN, 2_000_000 * scale) },
  '10k': { label: '10k keys', make: (scale) => steady(keysOf(10_000), OPEN, 2_000_000 * scale) },
  zipf: { label: '1M zipf', make: (scale) => filled(1_000_000 * scale, zipf, 1_000_000 * scale) },
  new: {
    label: '1M new',
    make(scale) {
      const [before, count] = [100_000 * scale, 1_000_000 * scale];
      const order = inOrder(before + count);
      return {
        limits: OPEN,
        keys: keysOf(before + count),
        warmUp: order.subarray(0, before),
        order: order.subarray(before),
        whole: true,
      };
    },
  },
  denied: { label: 'denied', make: (scale) => steady(copiesOf(16, 64), SHUT, 2_000_000 * scale) },
};

/** A workload that checks `count` existing keys in random order. */
export const flat = (count, scale) => filled(count * scale, evenly, 1_000_000 * scale);

export const bytes = (scale) => ({ limits: OPEN, keys: keysOf(1_000_000 * scale) });

/** Keys that arrive in two waves, each fully replenished a second after its check, preceded by some keys to warm up. */
export const waves = (scale) => ({
  limits: { limit: 1, rate: 1, window: 1000 },
  wave: 1_000_000 * scale,
  total: 2_000_000 * scale,
  warmUp: keysOf(100_000 * scale, 2_000_000 * scale),
});
