/**
 * Computes a keyed 64-bit fingerprint of a string. It is HalfSipHash-1-3 over UTF-16 code units, two per word, so that any two
 * different strings, including those with lone surrogates, are different input. Without the seed, an attacker cannot construct a
 * collision.
 */

/** The two halves of the last fingerprint, as 32-bit integers. `low` is never 0, because 0 marks a free slot. */
export let high = 0;
export let low = 0;

let last = '';
let lastSeed: Int32Array | undefined;

/**
 * Sets `high` and `low` to the fingerprint of a key. The same key twice in a row is hashed only once. `seed` consists of two
 * words that must not change.
 */
export function fingerprint(key: string, seed: Int32Array): void {
  const length = key.length;
  // Comparing a substring of a longer string takes longer than hashing it, so the last character is compared first.
  const isLast =
    length === last.length &&
    key.charCodeAt(length - 1) === last.charCodeAt(length - 1) &&
    key === last &&
    seed === lastSeed;
  if (isLast) return;
  let v0 = seed[0];
  let v1 = seed[1];
  let v2 = 0x6c796765 ^ v0;
  let v3 = 0x74656462 ^ v1;
  const even = length & ~1;
  for (let i = 0; i <= even; i += 2) {
    // The last word holds the length and the odd code unit, so that a string padded with NULs has a different hash.
    const word =
      i < even
        ? key.charCodeAt(i) | (key.charCodeAt(i + 1) << 16)
        : (length << 16) | (i < length ? key.charCodeAt(i) : 0);
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  v2 ^= 0xee;
  for (let i = 0; i < 3; i++) {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
  }
  high = v1 ^ v3;
  low = v0 ^ v2 || 1;
  last = key;
  lastSeed = seed;
}

/** Sets `high` and `low` to a fingerprint that was computed before, with any seed. */
export function recall(recalledLow: number, recalledHigh: number): void {
  low = recalledLow;
  high = recalledHigh;
  lastSeed = undefined;
}

/** A random seed, so that an attacker cannot construct a collision. */
export function randomSeed(): Int32Array {
  return crypto.getRandomValues(new Int32Array(2));
}
