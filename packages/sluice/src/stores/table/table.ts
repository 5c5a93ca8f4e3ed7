/**
 * A hash table of rows by fingerprint, with open addressing in typed arrays. A slot consists of an 8-byte fingerprint and the row.
 * The table stores no keys and needs no objects or timers.
 *
 * The fingerprint is a keyed 64-bit hash: HalfSipHash-1-3 over UTF-16 code units, two per word. So different strings are always
 * different inputs, even if they contain lone surrogates. An attacker who does not know the seed cannot construct a collision.
 */
import type { Millis } from '../../engine/contract.ts';
import type { Generation } from './generation.ts';
import { Generations, type RowKind } from './generations.ts';

/** The seed of all tables that are created without a seed. */
let ownSeed: Int32Array | undefined;

export class Table {
  /** The array that contains the row that was last found or added. */
  cells: Float64Array;
  readonly generations: Generations;
  readonly #seed: Int32Array;

  /** `seed` is the seed of the fingerprints. Tables with the same seed can exchange rows. */
  constructor(kind: RowKind, maxKeys: number, seed?: Int32Array) {
    // The seed is not created at module level, because Cloudflare Workers provide no random numbers while modules load.
    ownSeed ??= randomSeed();
    this.#seed = seed ?? ownSeed;
    this.generations = new Generations(kind, maxKeys);
    this.cells = this.generations.current.cells;
  }

  /** The number of rows, including fully replenished ones that have not been dropped yet. */
  get size(): number {
    return this.generations.size;
  }

  /** Where the key's row starts in `cells`, or −1 if the key has no row. */
  find(key: string): number {
    fingerprint(key, this.#seed);
    const { current, old } = this.generations;
    const slot = search(current);
    if (slot < 0) return old === undefined ? -1 : this.#findIn(old);
    this.cells = current.cells;
    return slot * current.stride + 1;
  }

  #findIn(generation: Generation): number {
    const slot = search(generation);
    if (slot < generation.moved) return generation.older === undefined ? -1 : this.#findIn(generation.older);
    this.cells = generation.cells;
    return slot * generation.stride + 1;
  }

  /**
   * Same as `find`, for a table that was widened. If the row still lacks the new cells, moves it to the current generation first.
   */
  findWide(key: string, now: Millis): number {
    const { generations } = this;
    // Lookups also move rows, because if only new keys moved them, a generation with the old row width might never be emptied.
    if (generations.old !== undefined) generations.move(now);
    const at = this.find(key);
    const { current } = generations;
    if (at < 0 || this.cells === current.cells) return at;
    let home = generations.old as Generation;
    while (home.cells !== this.cells) home = home.older as Generation;
    if (home.stride === current.stride) return at;
    this.cells = current.cells;
    return generations.moveOne(home, (at - 1) / home.stride, now);
  }

  /** Adds a row of zeros for a key that has none. Returns where the row starts in `cells`. */
  add(key: string, now: Millis): number {
    fingerprint(key, this.#seed);
    return this.addAs(low, high, now);
  }

  /** Same as `add`, but with a fingerprint instead of a key. The fingerprint comes from `each` of a table with the same seed. */
  addAs(tagLow: number, tagHigh: number, now: Millis): number {
    const at = this.generations.add(tagHigh, tagLow, now);
    this.cells = this.generations.current.cells;
    return at;
  }

  /** Drops all rows and frees their memory. */
  clear(): void {
    this.generations.clear();
    this.cells = this.generations.current.cells;
  }

  /** Calls `visit` with the fingerprint of each row in use and where it starts in `cells`. Moves all rows first. */
  each(now: Millis, visit: (low: number, high: number, at: number) => void): void {
    while (this.generations.old !== undefined) this.generations.move(now);
    this.cells = this.generations.current.cells;
    this.generations.each(now, visit);
  }
}

/** The two halves of the last fingerprint, as 32-bit integers; `low` is never 0, which marks a free slot. */
export let high = 0;
export let low = 0;

let last = '';
let lastSeed: Int32Array | undefined;

/**
 * Sets `high` and `low`. A key that is the same as in the previous call is not hashed again. `seed` consists of two words, which
 * must not change.
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
    // The last word holds the length and, if the length is odd, the last code unit. So a string that is padded with NULs has a
    // different hash.
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

/** The slot that contains the last fingerprint, or −1 if no slot contains it. */
function search({ tags, capacity, scale, stride }: Generation): number {
  const step = 2 * stride;
  let slot = ((high >>> 0) * scale) | 0;
  for (;;) {
    const tag = tags[slot * step];
    if (tag === low && tags[slot * step + 1] === high) return slot;
    if (tag === 0) return -1;
    if (++slot === capacity) slot = 0;
  }
}

/** A random seed, so that an attacker cannot construct a collision. */
export function randomSeed(): Int32Array {
  return crypto.getRandomValues(new Int32Array(2));
}
