/**
 * The table's fingerprint with a key that is handed in: all threads must agree on it, so it cannot be the thread's own.
 * HalfSipHash-1-3 over UTF-16 code units, two to a word, as in ../table/fingerprint.ts.
 */

/** The two halves of the last hash, as 32-bit integers; `low` is never 0, which marks a free slot. */
export let high = 0;
export let low = 0;

export function keyedHash(text: string, k0: number, k1: number): void {
  let v0 = k0;
  let v1 = k1;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  const length = text.length;
  const even = length & ~1;
  // The word after the last holds the length and the odd unit; then come 0xee and two empty rounds.
  for (let i = 0; i <= even + 6; i += 2) {
    const word =
      i < even
        ? text.charCodeAt(i) | (text.charCodeAt(i + 1) << 16)
        : i === even
          ? (length << 16) | (i < length ? text.charCodeAt(i) : 0)
          : 0;
    if (i === even + 2) v2 ^= 0xee;
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
  high = v1 ^ v3;
  low = v0 ^ v2 || 1;
}
