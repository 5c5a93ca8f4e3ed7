/**
 * Rows by fingerprint: open addressing on one typed array. A slot is 8 bytes of fingerprint and the row; no key, no
 * object, no timer.
 *
 * The table never stops to grow: when it is full, a new generation is allocated and each new key moves a few slots
 * from the old one, leaving behind what is as good as new. So growing, shrinking and expiry are the same few lines.
 */
import type { Cells, Millis } from '../../contract.ts';
import { fingerprint, high, low } from './fingerprint.ts';

/** What the table must know of the rows it keeps. */
export interface RowKind {
  /** Cells of a row. */
  readonly width: number;
  /** 0: a row may be forgotten. When one has to be, it is the one nearest to 0. Below 0: it denies. */
  worth(cells: Cells, at: number, now: Millis): number;
  /** Called before a row is forgotten. */
  forget(cells: Cells, at: number): void;
}

/** A slot is looked for from `position(high)` on, to the next free one. `low` 0 marks a free slot. */
interface Generation {
  readonly capacity: number;
  readonly cells: Float64Array;
  readonly tags: Int32Array;
  /** Slots that are not free: rows, and marks of evicted ones. */
  used: number;
}

function generationOf(capacity: number, stride: number): Generation {
  const cells = new Float64Array(capacity * stride);
  return { capacity, cells, tags: new Int32Array(cells.buffer), used: 0 };
}

const SMALLEST = 32;
/** A table that was larger does not become smaller than this: a new generation every few keys would cost more. */
const SHRUNK = 512;
/** A generation is full at three quarters, and starts at half full. */
const FULL = 0.75;
const ROOMY = 0.5;
/** Old slots moved per new key: a generation has moved long before the next is full. */
const STEP = 16;
const SAMPLE = 128;
/** Rows compared when one has to go. */
const CANDIDATES = 16;
/** While the one that would go denies, so many slots are looked at. */
const FAR = 512;
/** `low` of a slot whose row was evicted; as a fingerprint it would need `high` to be the same, too. */
const EVICTED = -1;

/** Random per process, so that nobody outside can aim at a collision. */
const seed = new Int32Array(2);
let seeded = false;

export class Table {
  /** The array that holds the row last found or added. */
  cells: Float64Array;
  readonly #kind: RowKind;
  readonly #stride: number;
  readonly #maxKeys: number;
  #current: Generation;
  private old: Generation | undefined;
  /** Old slots before this one have moved. */
  #moved = 0;
  /** Rows in old slots that have not. */
  #waiting = 0;
  #rows = 0;
  #hand = 0;

  constructor(kind: RowKind, maxKeys: number) {
    // Not earlier: while modules load, Workers have no random numbers to give.
    if (!seeded) crypto.getRandomValues(seed);
    seeded = true;
    this.#kind = kind;
    this.#stride = kind.width + 1;
    this.#maxKeys = maxKeys;
    this.#current = generationOf(SMALLEST, this.#stride);
    this.cells = this.#current.cells;
  }

  /** Rows kept, those included that could be forgotten. */
  get size(): number {
    return this.#rows + this.#waiting;
  }

  /** Where the key's row starts in `cells`; −1: it has none. */
  find(key: string): number {
    fingerprint(key, seed);
    const current = this.#current;
    const old = this.old;
    const slot = this.#search(current);
    if (slot >= 0) {
      this.cells = current.cells;
      return slot * this.#stride + 1;
    }
    if (old === undefined) return -1;
    const before = this.#search(old);
    if (before < this.#moved) return -1;
    this.cells = old.cells;
    return before * this.#stride + 1;
  }

  /** Adds a row of zeros for the key that was just looked for in vain, and says where it starts in `cells`. */
  add(now: Millis): number {
    if (this.size >= this.#maxKeys) this.#evict(now);
    if (this.old !== undefined) this.#move(now);
    else if (this.#current.used >= this.#current.capacity * FULL) this.#turnOver(now);
    this.cells = this.#current.cells;
    return this.#claim(this.#current, high, low) * this.#stride + 1;
  }

  /** The slot of the fingerprint just made; −1 if it has none. */
  #search({ tags, capacity }: Generation): number {
    const step = 2 * this.#stride;
    let slot = position(high, capacity);
    for (;;) {
      const tag = tags[slot * step];
      if (tag === low && tags[slot * step + 1] === high) return slot;
      if (tag === 0) return -1;
      if (++slot === capacity) slot = 0;
    }
  }

  /** Takes the first free slot for a fingerprint that is not in this generation. */
  #claim(generation: Generation, tagHigh: number, tagLow: number): number {
    const { tags, capacity } = generation;
    const step = 2 * this.#stride;
    let slot = position(tagHigh, capacity);
    while (tags[slot * step] !== 0) if (++slot === capacity) slot = 0;
    tags[slot * step] = tagLow;
    tags[slot * step + 1] = tagHigh;
    generation.used++;
    this.#rows++;
    return slot;
  }

  /** Starts a generation that is half full once all that lives has moved, and the keys that come meanwhile. */
  #turnOver(now: Millis): void {
    const full = this.#current;
    const { capacity } = full;
    const living = this.#living(full, now) + capacity / STEP;
    this.old = full;
    this.#moved = 0;
    this.#waiting = this.#rows;
    this.#rows = 0;
    const least = Math.min(capacity, SHRUNK);
    this.#current = generationOf(Math.max(least, Math.ceil(living / ROOMY)), this.#stride);
    this.#move(now);
  }

  /** How many rows live on, from a sample. */
  #living(generation: Generation, now: Millis): number {
    const samples = Math.min(SAMPLE, generation.capacity);
    let living = 0;
    for (let i = 0; i < samples; i++) {
      const slot = Math.floor((i * generation.capacity) / samples);
      if (this.#isRow(generation, slot) && this.#worth(generation, slot, now) !== 0) living++;
    }
    return (living / samples) * generation.capacity;
  }

  /** Moves the next slots of the old generation; all of them at once should the new one ever fill up before. */
  #move(now: Millis): void {
    const old = this.old as Generation;
    const { used, capacity } = this.#current;
    const crowded = used + STEP > capacity * FULL;
    if (crowded) this.#makeRoom();
    const end = Math.min(old.capacity, crowded ? old.capacity : this.#moved + STEP);
    for (let slot = this.#moved; slot < end; slot++) {
      if (!this.#isRow(old, slot)) continue;
      this.#waiting--;
      if (this.#worth(old, slot, now) !== 0) this.#copy(old, slot);
      else this.#kind.forget(old.cells, slot * this.#stride + 1);
    }
    this.#moved = end;
    if (end === old.capacity) this.old = undefined;
  }

  /** The sample was wrong by far: a new generation in place of the current one, large enough for everything. */
  #makeRoom(): void {
    const crowded = this.#current;
    this.#current = generationOf(Math.ceil((this.#rows + this.#waiting) / ROOMY) + SMALLEST, this.#stride);
    this.#rows = 0;
    for (let slot = 0; slot < crowded.capacity; slot++) {
      if (this.#isRow(crowded, slot)) this.#copy(crowded, slot);
    }
  }

  #copy({ tags, cells }: Generation, slot: number): void {
    const stride = this.#stride;
    const at = slot * stride;
    const to = this.#current;
    const target = this.#claim(to, tags[2 * at + 1], tags[2 * at]) * stride;
    for (let cell = 1; cell < stride; cell++) to.cells[target + cell] = cells[at + cell];
  }

  /** Of some neighbours, in both generations, the row worth least goes: what denies outlives any flood of new keys. */
  #evict(now: Millis): void {
    const { capacity } = this.#current;
    const generations = this.old === undefined ? [this.#current] : [this.#current, this.old];
    let home = this.#current;
    let victim = -1;
    let least = -Infinity;
    for (
      let seen = 0, looked = 0;
      looked < capacity && (seen < CANDIDATES || (least < 0 && looked < FAR));
      looked++
    ) {
      if (++this.#hand >= capacity) this.#hand = 0;
      for (const generation of generations) {
        const slot = Math.floor(this.#hand * (generation.capacity / capacity));
        if ((generation === this.old && slot < this.#moved) || !this.#isRow(generation, slot)) continue;
        seen++;
        const worth = this.#worth(generation, slot, now);
        if (Math.abs(worth) > Math.abs(least)) continue;
        home = generation;
        victim = slot;
        least = worth;
      }
    }
    if (victim < 0) return;
    this.#kind.forget(home.cells, victim * this.#stride + 1);
    const at = 2 * victim * this.#stride;
    home.tags.fill(EVICTED, at, at + 2);
    if (home === this.old) this.#waiting--;
    else this.#rows--;
  }

  #isRow({ tags }: Generation, slot: number): boolean {
    const at = 2 * slot * this.#stride;
    return tags[at] !== 0 && !(tags[at] === EVICTED && tags[at + 1] === EVICTED);
  }

  #worth(generation: Generation, slot: number, now: Millis): number {
    return this.#kind.worth(generation.cells, slot * this.#stride + 1, now);
  }
}

/** Spreads `high` over the slots in order, so that a generation moves to the next from front to back. */
function position(tagHigh: number, capacity: number): number {
  return ((tagHigh >>> 0) * (capacity / 0x1_0000_0000)) | 0;
}
