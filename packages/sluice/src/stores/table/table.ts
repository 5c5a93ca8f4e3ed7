/**
 * A hash table of rows by fingerprint, with open addressing in one typed array. A slot is 8 bytes of fingerprint and the
 * row. The table stores no keys and needs no objects or timers.
 *
 * The table never pauses to grow. When it is full, a new generation is allocated, and each new key moves a few slots from the old
 * one, without rows that are fully replenished. So growing, shrinking, expiry and wider rows are the same few lines.
 */
import type { Cells, Millis } from '../../engine/contract.ts';
import { fingerprint, high, low, randomSeed, recall } from './fingerprint.ts';

/** Describes the rows of a table. */
export interface RowKind {
  /** The number of cells in a row. When it increases, `widen` must be called. */
  readonly width: number;
  /**
   * 0 if the row is fully replenished and may be dropped. Among several rows, the one nearest to 0 is evicted. The sign is
   * negative while the key is denied. `width` is the number of cells of this row, which may be older than the last `widen`.
   */
  evictionWeight(cells: Cells, at: number, now: Millis, width: number): number;
  /** Called before a row is dropped. */
  forget(cells: Cells, at: number): void;
  /** Fills in the cells that a row did not have before `widen`. */
  extend?(cells: Cells, at: number, now: Millis): void;
}

/**
 * One array of slots. A search starts at the slot `position(high)` and ends at the next free one. A `low` of 0 marks a free slot.
 */
interface Generation {
  readonly capacity: number;
  /** Number of cells of a slot, which holds the fingerprint and the row. */
  readonly stride: number;
  readonly cells: Float64Array;
  readonly tags: Int32Array;
  /** Number of slots that are not free, because they hold rows or marks of evicted rows. */
  used: number;
  /** Slots before this one have moved to the current generation. */
  moved: number;
  /** The generation before this one, while it still has rows. */
  older: Generation | undefined;
}

function generationOf(capacity: number, stride: number): Generation {
  const cells = new Float64Array(capacity * stride);
  const tags = new Int32Array(cells.buffer);
  return { capacity, stride, cells, tags, used: 0, moved: 0, older: undefined };
}

const SMALLEST = 32;
/** A table does not shrink below this capacity, because a new generation every few keys would cost more. */
const SHRUNK = 512;
/** A generation is full at three quarters, and starts at half full. */
const FULL = 0.75;
const ROOMY = 0.5;
/** Number of old slots to move per new key. It is large enough that a generation has moved long before the next one is full. */
const STEP = 16;
const SAMPLE = 128;
/** Number of rows that are compared to choose the one to evict. */
const CANDIDATES = 16;
/** Maximum number of slots that are examined while the best candidate is a key that is denied. */
const FAR = 512;
/** After a search of FAR slots that found only denied keys, this many evictions compare only CANDIDATES rows. */
const RESPITE = 32;
/** Both `low` and `high` of a slot whose row was evicted. */
const EVICTED = -1;

/** The seed of all tables that were given none. */
let ownSeed: Int32Array | undefined;

export class Table {
  /** The array that contains the row that was last found or added. */
  cells: Float64Array;
  readonly #kind: RowKind;
  readonly #maxKeys: number;
  readonly #seed: Int32Array;
  #current: Generation;
  private old: Generation | undefined;
  #size = 0;
  /** Where the next eviction looks for candidates. */
  #hand = 0;
  /** Evictions left before the next search of FAR slots. */
  #respite = 0;
  /** `sweep` has found no row in use before this slot. */
  #swept = 0;

  /** `seed` is the seed of the fingerprints. Tables with the same seed can exchange rows. */
  constructor(kind: RowKind, maxKeys: number, seed?: Int32Array) {
    // Not at module level, because Workers provide no random numbers while modules load.
    ownSeed ??= randomSeed();
    this.#seed = seed ?? ownSeed;
    this.#kind = kind;
    this.#maxKeys = maxKeys;
    this.#current = generationOf(SMALLEST, kind.width + 1);
    this.cells = this.#current.cells;
  }

  /** Rows kept, including fully replenished ones that have not been dropped yet. */
  get size(): number {
    return this.#size;
  }

  /** Where the key's row starts in `cells`, or −1 if the key has no row. */
  find(key: string): number {
    fingerprint(key, this.#seed);
    const current = this.#current;
    const slot = search(current);
    if (slot < 0) return this.old === undefined ? -1 : this.#findIn(this.old);
    this.cells = current.cells;
    return slot * current.stride + 1;
  }

  #findIn(generation: Generation): number {
    const slot = search(generation);
    if (slot < generation.moved) return generation.older === undefined ? -1 : this.#findIn(generation.older);
    this.cells = generation.cells;
    return slot * generation.stride + 1;
  }

  /** Same as `find`, for a table that was widened. The row that it finds has all cells. */
  findWide(key: string, now: Millis): number {
    // Rows also move without new keys, so that the narrow generation does not stay forever.
    if (this.old !== undefined) this.#move(now);
    const at = this.find(key);
    const current = this.#current;
    if (at < 0 || this.cells === current.cells) return at;
    let home = this.old as Generation;
    while (home.cells !== this.cells) home = home.older as Generation;
    if (home.stride === current.stride) return at;
    const slot = (at - 1) / home.stride;
    const target = this.#copy(home, slot, now);
    markEvicted(home, slot);
    this.cells = current.cells;
    return target;
  }

  /** Adds a row of zeros for the key that `find` just did not find. Returns where the row starts in `cells`. */
  add(now: Millis): number {
    if (this.#size >= this.#maxKeys) this.#evict(now);
    if (this.old !== undefined) this.#move(now);
    else if (this.#current.used >= this.#current.capacity * FULL) this.#turnOver(now);
    const current = this.#current;
    this.cells = current.cells;
    this.#size++;
    return claim(current, high, low) * current.stride + 1;
  }

  /** Calls `visit` with the fingerprint of each row in use and where it starts in `cells`. Moves all rows first. */
  each(now: Millis, visit: (low: number, high: number, at: number) => void): void {
    while (this.old !== undefined) this.#move(now);
    const current = this.#current;
    this.cells = current.cells;
    for (let slot = 0, at = 0; slot < current.capacity; slot++, at += current.stride) {
      if (!isRow(current, slot) || this.#weight(current, slot, now) === 0) continue;
      visit(current.tags[2 * at], current.tags[2 * at + 1], at + 1);
    }
  }

  /**
   * Makes room for this many rows in an empty table. It is needed because rows from `each` are sorted by position and would crowd
   * a small table.
   */
  reserve(rows: number): void {
    this.#current = generationOf(Math.ceil(rows / ROOMY) + SMALLEST, this.#kind.width + 1);
  }

  /** Adds a row by the fingerprint that a table with the same seed gave to `visit`. */
  addAs(tagLow: number, tagHigh: number, now: Millis): number {
    recall(tagLow, tagHigh);
    return this.add(now);
  }

  /** Starts a generation with rows as wide as the kind's are now. Older rows get the new cells when they move to it. */
  widen(): void {
    this.#current.older = this.old;
    this.old = this.#current;
    let slots = 0;
    for (const { capacity } of this.#older()) slots += capacity;
    const capacity = Math.max(SMALLEST, Math.ceil((this.#size + slots / STEP) / ROOMY));
    this.#current = generationOf(capacity, this.#kind.width + 1);
  }

  /**
   * Drops fully replenished rows, in order, up to the first row that is in use. The next call continues from there, or
   * starts again. Examines at most `count` slots and returns how many it examined.
   */
  sweep(now: Millis, count: number): number {
    let looked = 0;
    for (; looked < count && this.old !== undefined; looked += STEP) this.#move(now);
    if (this.old !== undefined) return looked;
    const current = this.#current;
    const end = Math.min(current.capacity, this.#swept + count - looked);
    for (let slot = this.#swept; slot < end; slot++, looked++) {
      if (!isRow(current, slot)) continue;
      if (this.#weight(current, slot, now) !== 0) {
        this.#swept = 0;
        return looked;
      }
      this.#forget(current, slot);
    }
    this.#swept = end < current.capacity ? end : 0;
    return looked;
  }

  /** The generations before the current one, which still have rows. */
  *#older(): Generator<Generation> {
    for (let one = this.old; one !== undefined; one = one.older) yield one;
  }

  /** Starts a generation that will be half full once all rows in use, and the new keys until then, are in it. */
  #turnOver(now: Millis): void {
    const full = this.#current;
    const { capacity } = full;
    const living = this.#living(full, now) + capacity / STEP;
    this.old = full;
    const least = Math.min(capacity, SHRUNK);
    this.#current = generationOf(Math.max(least, Math.ceil(living / ROOMY)), this.#kind.width + 1);
    this.#move(now);
  }

  /** How many rows are in use, estimated from a sample. */
  #living(generation: Generation, now: Millis): number {
    const samples = Math.min(SAMPLE, generation.capacity);
    let living = 0;
    for (let i = 0; i < samples; i++) {
      const slot = Math.floor((i * generation.capacity) / samples);
      if (isRow(generation, slot) && this.#weight(generation, slot, now) !== 0) living++;
    }
    return (living / samples) * generation.capacity;
  }

  /** Moves the next slots of the oldest generation, or all of them if the new one is about to be full. */
  #move(now: Millis): void {
    const { used, capacity } = this.#current;
    const crowded = used + STEP > capacity * FULL;
    if (crowded) this.#makeRoom(now);
    do {
      let from = this.old as Generation;
      while (from.older !== undefined) from = from.older;
      const end = Math.min(from.capacity, crowded ? from.capacity : from.moved + STEP);
      for (let slot = from.moved; slot < end; slot++) {
        if (!isRow(from, slot)) continue;
        // A row is widened because a new plan is about to read it, so it is kept even if it is fully replenished.
        const isNarrow = from.stride < this.#current.stride;
        if (isNarrow || this.#weight(from, slot, now) !== 0) this.#copy(from, slot, now);
        else this.#forget(from, slot);
      }
      from.moved = end;
      if (end === from.capacity) this.#drop(from);
    } while (crowded && this.old !== undefined);
  }

  /** Drops the oldest generation, which has no rows left. */
  #drop(empty: Generation): void {
    const old = this.old as Generation;
    if (old === empty) this.old = undefined;
    else old.older = undefined;
  }

  /** Replaces the current generation by one that is large enough for all rows, because the estimate was far too low. */
  #makeRoom(now: Millis): void {
    const crowded = this.#current;
    this.#current = generationOf(Math.ceil(this.#size / ROOMY) + SMALLEST, crowded.stride);
    for (let slot = 0; slot < crowded.capacity; slot++) {
      if (isRow(crowded, slot)) this.#copy(crowded, slot, now);
    }
  }

  /** Copies a row to the current generation and returns where it starts there. */
  #copy({ tags, cells, stride }: Generation, slot: number, now: Millis): number {
    const at = slot * stride;
    const to = this.#current;
    const target = claim(to, tags[2 * at + 1], tags[2 * at]) * to.stride;
    for (let cell = 1; cell < stride; cell++) to.cells[target + cell] = cells[at + cell];
    if (stride < to.stride) this.#kind.extend?.(to.cells, target + 1, now);
    return target + 1;
  }

  /** Evicts the row with the least weight among some neighbors in all generations. Keys that are denied survive any flood. */
  #evict(now: Millis): void {
    const { capacity } = this.#current;
    const generations = this.old === undefined ? [this.#current] : [this.#current, ...this.#older()];
    let home = this.#current;
    let victim = -1;
    let least = -Infinity;
    const far = this.#respite > 0 ? 0 : FAR;
    let seen = 0;
    for (let looked = 0; looked < capacity; looked++) {
      if (seen >= CANDIDATES && (least >= 0 || looked >= far)) break;
      if (++this.#hand >= capacity) this.#hand = 0;
      for (const generation of generations) {
        const slot = Math.floor(this.#hand * (generation.capacity / capacity));
        if (slot < generation.moved || !isRow(generation, slot)) continue;
        seen++;
        const weight = this.#weight(generation, slot, now);
        if (Math.abs(weight) > Math.abs(least)) continue;
        home = generation;
        victim = slot;
        least = weight;
      }
    }
    this.#respite = least < 0 && far > 0 ? RESPITE : Math.max(0, this.#respite - 1);
    if (victim >= 0) this.#forget(home, victim);
  }

  #forget(generation: Generation, slot: number): void {
    this.#kind.forget(generation.cells, slot * generation.stride + 1);
    markEvicted(generation, slot);
    this.#size--;
  }

  #weight({ cells, stride }: Generation, slot: number, now: Millis): number {
    return this.#kind.evictionWeight(cells, slot * stride + 1, now, stride - 1);
  }
}

/** The slot of the current fingerprint, or −1 if there is none. */
function search({ tags, capacity, stride }: Generation): number {
  const step = 2 * stride;
  let slot = position(high, capacity);
  for (;;) {
    const tag = tags[slot * step];
    if (tag === low && tags[slot * step + 1] === high) return slot;
    if (tag === 0) return -1;
    if (++slot === capacity) slot = 0;
  }
}

/** Claims the first free slot for a fingerprint that is not in this generation. */
function claim(generation: Generation, tagHigh: number, tagLow: number): number {
  const { tags, capacity, stride } = generation;
  const step = 2 * stride;
  let slot = position(tagHigh, capacity);
  while (tags[slot * step] !== 0) if (++slot === capacity) slot = 0;
  tags[slot * step] = tagLow;
  tags[slot * step + 1] = tagHigh;
  generation.used++;
  return slot;
}

function isRow({ tags, stride }: Generation, slot: number): boolean {
  const at = 2 * slot * stride;
  return tags[at] !== 0 && !(tags[at] === EVICTED && tags[at + 1] === EVICTED);
}

function markEvicted({ tags, stride }: Generation, slot: number): void {
  const at = 2 * slot * stride;
  tags[at] = EVICTED;
  tags[at + 1] = EVICTED;
}

/** Spreads `high` over the slots in order, so that a generation moves to the next from front to back. */
function position(tagHigh: number, capacity: number): number {
  return ((tagHigh >>> 0) * (capacity / 0x1_0000_0000)) | 0;
}
