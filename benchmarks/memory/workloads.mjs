/** Defines the keys, the order in which they are checked, and their limits, all of which are the same in every process. */

const DAY = 86_400_000;
/** Limits that never deny. A key stays live for 86 s, longer than any run, so no contender saves work by dropping keys. */
const OPEN = { limit: 1e9, rate: 1000, window: DAY };
const SHUT = { limit: 10, rate: 10, window: DAY };
/** A rate of a million per minute, at which a key is fully replenished long before it is checked again. */
const QUICK = { limit: 1_000_000, rate: 1_000_000, window: 60_000 };

const SYLLABLES = Array.from({ length: 2048 }, (_, index) => index.toString(36).padStart(3, 'x'));

/**
 * Creates a key of 12 characters at run time, so that keys are flat strings on the heap that are neither internalized nor hashed
 * before their first check. Multiplying by an odd number modulo 2^32 makes them distinct without a Set, which would hash them.
 */
export function keyOf(index) {
  const bits = Math.imul(index, 0x9e3779b1);
  return `ip:${SYLLABLES[bits >>> 22]}${SYLLABLES[(bits >>> 11) & 2047]}${SYLLABLES[bits & 2047]}`;
}

/** The random number generator mulberry32, which gives every contender the same sequence. */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Number of random indexes. They are drawn before the clock starts. */
const DRAWN = 2 ** 20;
function drawn(index) {
  const order = Uint32Array.from({ length: DRAWN }, index);
  return (i) => order[i % DRAWN];
}

function evenly(keys) {
  const random = randomFrom(1);
  return drawn(() => Math.floor(random() * keys));
}

/**
 * Draws from a Zipf distribution with exponent 1, by inverting its distribution function. Ranks are scattered, so popular keys
 * are not neighbors.
 */
function zipf(keys) {
  const random = randomFrom(2);
  return drawn(() => ((Math.floor((keys + 1) ** random()) - 1) * 611_953) % keys);
}

/** Creates a new string object for each check, as in a real request. */
const fresh = (indexAt) => (i) => keyOf(indexAt(i));

/**
 * Workloads by name. `keyAt(i)` creates the key of the i-th check. The first `fill` keys are checked beforehand, in order.
 * `scale` multiplies the number of checks; it is below 1 in a quick run. A `whole` run must not be cut short.
 */
export const workloads = {
  one: {
    label: 'one key',
    make: (scale) => ({ limits: OPEN, keyAt: fresh(() => 0), keys: 1, checks: 2_000_000 * scale }),
  },
  '10k': {
    label: '10k keys',
    make: (scale) => ({
      limits: OPEN,
      keyAt: fresh(evenly(10_000)),
      keys: 10_000,
      checks: 2_000_000 * scale,
    }),
  },
  concatenated: {
    label: '10k, concatenated',
    make(scale) {
      const keyAt = fresh(evenly(10_000));
      // V8 joins the two parts only when the limiter reads the key.
      return { limits: OPEN, keyAt: (i) => 'client:' + keyAt(i), keys: 10_000, checks: 2_000_000 * scale };
    },
  },
  denied: {
    label: 'denied',
    make: (scale) => ({ limits: SHUT, keyAt: fresh((i) => i % 16), keys: 16, checks: 2_000_000 * scale }),
  },
  zipf: {
    label: '1M zipf',
    make: (scale) => ({
      limits: OPEN,
      keyAt: fresh(zipf(1_000_000 * scale)),
      keys: 1_000_000 * scale,
      fill: 1_000_000 * scale,
      checks: 1_000_000 * scale,
    }),
  },
  new: {
    label: '1M new',
    make: (scale) => ({
      limits: OPEN,
      keyAt: fresh((i) => i),
      keys: 1_250_000 * scale,
      checks: 1_000_000 * scale,
      whole: true,
    }),
  },
  replenished: {
    label: '10k, replenished',
    make: (scale) => ({
      limits: QUICK,
      keyAt: fresh(evenly(10_000)),
      keys: 10_000,
      checks: 2_000_000 * scale,
    }),
  },
};

/** The same string object at every check, whose hash V8 has cached. */
export const sameObject = (scale) => {
  const key = keyOf(0);
  return { limits: OPEN, keyAt: () => key, keys: 1, checks: 2_000_000 * scale };
};

export const bytes = (scale) => ({ limits: OPEN, keyAt: keyOf, keys: 1_000_000 * scale });

/**
 * Keys that arrive in two waves. Each key is fully replenished one second after its check. Other keys warm up the limiter first.
 */
export const waves = (scale) => ({
  limits: { limit: 1, rate: 1, window: 1000 },
  wave: 1_000_000 * scale,
  total: 2_000_000 * scale,
  warmUp: 100_000 * scale,
});
