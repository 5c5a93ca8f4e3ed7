/**
 * A keyed 64-bit fingerprint of a string: HalfSipHash-1-3 over UTF-16 code units, two to a word, so that any two
 * different strings, lone surrogates included, are different input. The key is random per process: nobody outside
 * can aim at a collision.
 */

/** An array: a `let` would cost the hash a third of its speed. */
const seed = new Uint32Array(2);

/** The two halves of the last fingerprint, as 32-bit integers, never both 0. */
export let high = 0;
export let low = 0;

let last: string | undefined;

/** Sets `high` and `low`. A key asked for again at once is not hashed again. */
export function fingerprint(key: string): void {
  if (key === last) return;
  // Not earlier: while modules load, Workers have no random numbers to give.
  if (last === undefined) crypto.getRandomValues(seed);
  const k0 = seed[0] | 0;
  const k1 = seed[1] | 0;
  let v0 = k0;
  let v1 = k1;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const length = key.length;
  const even = length & ~1;
  for (let i = 0; i <= even; i += 2) {
    // The last word holds the length and the odd unit: a string and its longer twin with NULs differ.
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
}
