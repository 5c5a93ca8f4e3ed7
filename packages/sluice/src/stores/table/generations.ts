/**
 * The arrays that hold a table's rows. The table never pauses to grow: when the current generation is full, a new one is
 * allocated and each new key moves a few slots to it, leaving behind rows that are fully replenished. So the same few lines of
 * code handle growing, shrinking, expiry and wider rows.
 */
import type { Cells, Millis } from '../../engine/contract.ts';
import { claim, type Generation, generationOf, isRow, markEvicted } from './generation.ts';

/** What the table must know about the rows it keeps. */
export interface RowKind {
  /** The number of cells in a row. When it increases, `widen` must be called. */
  readonly width: number;
  /**
   * Returns the row's eviction weight, which is 0 if the row is fully replenished and may be dropped. Among several rows, the one
   * whose weight is nearest to 0 is evicted. The weight is negative while the key is denied. `width` is the number of cells in this
   * row, which may have been added before the last `widen`.
   */
  evictionWeight(cells: Cells, at: number, now: Millis, width: number): number;
  /** Called before a row is dropped. */
  forget(cells: Cells, at: number): void;
  /** Fills in the cells that a row did not have before `widen`. */
  extend?(cells: Cells, at: number, now: Millis): void;
}

const SMALLEST = 32;
/** A table does not shrink below this capacity, because it would then start a new generation every few keys. */
const SHRUNK = 512;
/** A generation is full when three quarters of its slots are used. Its initial rows fill half of its slots. */
const FULL = 0.75;
const ROOMY = 0.5;
/**
 * Number of old slots that are moved per new key: enough that all rows of a generation have moved long before the next one is
 * full.
 */
const STEP = 16;
const SAMPLE = 128;
/** A generation has room for all keys that are added within this duration. */
const RECENT: Millis = 1000;
/** Number of rows that are compared to choose the one to evict. */
const CANDIDATES = 16;
/** The maximum number of slots that are examined while the best candidate is a denied key. */
const FAR = 512;
/** After a search of FAR slots has found only denied keys, this many evictions compare only CANDIDATES rows each. */
const RESPITE = 32;
export class Generations {
  /** The generation to which new rows are added. */
  current: Generation;
  /** The newest of the generations before the current one, while they still have rows. */
  old: Generation | undefined;
  /** The number of rows. */
  size = 0;
  /** The number of rows in use that were evicted. */
  evictions = 0;
  readonly #kind: RowKind;
  readonly #maxKeys: number;
  /** Where the next eviction looks for candidates. */
  #hand = 0;
  /** Number of evictions before the next search of FAR slots. */
  #respite = 0;
  /** `sweep` has found no row in use before this slot. */
  #swept = 0;

  constructor(kind: RowKind, maxKeys: number) {
    this.#kind = kind;
    this.#maxKeys = maxKeys;
    this.current = generationOf(SMALLEST, kind.width + 1, 0);
  }

  /** Makes room, adds a row of zeros to the current generation, and returns where the row starts in its cells. */
  add(tagHigh: number, tagLow: number, now: Millis): number {
    if (this.size >= this.#maxKeys) this.#evict(now);
    if (this.old !== undefined) this.move(now);
    else if (this.current.used >= this.current.capacity * FULL) this.#turnOver(now);
    const { current } = this;
    this.size++;
    current.added++;
    return claim(current, tagHigh, tagLow) * current.stride + 1;
  }

  /**
   * Moves a row that lacks the cells that `widen` added to the current generation. Returns where the row starts in its new
   * generation.
   */
  moveOne(home: Generation, slot: number, now: Millis): number {
    const target = this.#copy(home, slot, now);
    markEvicted(home, slot);
    return target;
  }

  /** Calls `visit` with the fingerprint of each row in use and where it starts. There must be no older generation. */
  each(now: Millis, visit: (low: number, high: number, at: number) => void): void {
    const { current } = this;
    for (let slot = 0, at = 0; slot < current.capacity; slot++, at += current.stride) {
      if (!isRow(current, slot) || this.#weight(current, slot, now) === 0) continue;
      visit(current.tags[2 * at], current.tags[2 * at + 1], at + 1);
    }
  }

  clear(): void {
    this.old = undefined;
    this.size = 0;
    this.reserve(0);
  }

  /**
   * Makes room for this many rows. The table must be empty. Call this before adding rows that come from `each` of another table,
   * because these rows arrive in the order of their positions, and would be crowded together in a small table.
   */
  reserve(rows: number): void {
    this.current = generationOf(Math.ceil(rows / ROOMY) + SMALLEST, this.#kind.width + 1, 0);
  }

  /**
   * Starts a generation whose rows have the current `width` of their kind. Rows of older generations get the additional cells when
   * they move to the new one.
   */
  widen(): void {
    this.current.older = this.old;
    this.old = this.current;
    let slots = 0;
    for (const { capacity } of this.#older()) slots += capacity;
    const capacity = Math.max(SMALLEST, Math.ceil((this.size + slots / STEP) / ROOMY));
    this.current = generationOf(capacity, this.#kind.width + 1, 0);
  }

  /**
   * Drops fully replenished rows, in order, up to the first row that is in use. The next call continues with the next slot. If
   * this call ended at a row in use or at the last slot, the next call starts again at the first slot. Examines at most `count`
   * slots and returns how many it examined.
   */
  sweep(now: Millis, count: number): number {
    let looked = 0;
    for (; looked < count && this.old !== undefined; looked += STEP) this.move(now);
    if (this.old !== undefined) return looked;
    const current = this.current;
    // Each move examines STEP slots, which may be more than were left.
    const end = Math.min(current.capacity, this.#swept + Math.max(0, count - looked));
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

  /**
   * Starts a generation. It has twice as many slots as the number of rows that are expected in it. The expected number is the
   * number of rows in use or of keys added in the last second, whichever is greater, plus the number of keys that are added until
   * all rows have moved. The keys of the last second count because a key that is used again within a second is cheaper to keep
   * than to add again, even if its row is fully replenished in the meantime.
   */
  #turnOver(now: Millis): void {
    const full = this.current;
    const { capacity } = full;
    const rows = Math.max(this.#living(full, now), this.#recent(full, now)) + capacity / STEP;
    this.old = full;
    const least = Math.min(capacity, SHRUNK);
    this.current = generationOf(Math.max(least, Math.ceil(rows / ROOMY)), this.#kind.width + 1, now);
    this.move(now);
  }

  /** How many keys were added in the last second, assuming that they were added at a constant rate. */
  #recent({ added, since }: Generation, now: Millis): number {
    const age = now - since;
    return Math.min(age > RECENT ? added * (RECENT / age) : added, this.#maxKeys);
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

  /** Moves the next slots of the oldest generation, or all of its slots if the new generation is about to be full. */
  move(now: Millis): void {
    const { used, capacity } = this.current;
    const crowded = used + STEP > capacity * FULL;
    if (crowded) this.#makeRoom(now);
    do {
      let from = this.old as Generation;
      while (from.older !== undefined) from = from.older;
      const end = Math.min(from.capacity, crowded ? from.capacity : from.moved + STEP);
      for (let slot = from.moved; slot < end; slot++) {
        if (!isRow(from, slot)) continue;
        // A row is widened because a new plan is about to read it, so it is kept even if it is fully replenished.
        const isNarrow = from.stride < this.current.stride;
        if (isNarrow || this.#weight(from, slot, now) !== 0) this.#copy(from, slot, now);
        else this.#forget(from, slot);
      }
      from.moved = end;
      if (end === from.capacity) this.#drop(from);
    } while (crowded && this.old !== undefined);
  }

  /** Drops the oldest generation, which has no rows left. */
  #drop(empty: Generation): void {
    if (this.old === empty) this.old = undefined;
    for (const one of this.#older()) if (one.older === empty) one.older = undefined;
  }

  /** Replaces the current generation with one that is large enough for all rows. Called if the estimate was far too low. */
  #makeRoom(now: Millis): void {
    const crowded = this.current;
    this.current = generationOf(Math.ceil(this.size / ROOMY) + SMALLEST, crowded.stride, crowded.since);
    this.current.added = crowded.added;
    for (let slot = 0; slot < crowded.capacity; slot++) {
      if (isRow(crowded, slot)) this.#copy(crowded, slot, now);
    }
  }

  /** Copies a row to the current generation and returns where the copy starts. */
  #copy({ tags, cells, stride }: Generation, slot: number, now: Millis): number {
    const at = slot * stride;
    const to = this.current;
    const target = claim(to, tags[2 * at + 1], tags[2 * at]) * to.stride;
    for (let cell = 1; cell < stride; cell++) to.cells[target + cell] = cells[at + cell];
    if (stride < to.stride) this.#kind.extend?.(to.cells, target + 1, now);
    return target + 1;
  }

  /** Evicts the row whose weight is nearest to 0 among some neighbors in all generations. Denied keys are evicted last. */
  #evict(now: Millis): void {
    const { capacity } = this.current;
    const generations = this.old === undefined ? [this.current] : [this.current, ...this.#older()];
    let home = this.current;
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
    if (victim < 0) return;
    this.#forget(home, victim);
    // Evicting a row that is fully replenished forgives nothing.
    if (least !== 0) this.evictions++;
  }

  #forget(generation: Generation, slot: number): void {
    this.#kind.forget(generation.cells, slot * generation.stride + 1);
    markEvicted(generation, slot);
    this.size--;
  }

  #weight({ cells, stride }: Generation, slot: number, now: Millis): number {
    return this.#kind.evictionWeight(cells, slot * stride + 1, now, stride - 1);
  }
}
