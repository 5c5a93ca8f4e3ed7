/**
 * One array of slots, with open addressing. A table has a current generation, and older ones while their rows move to the current
 * one.
 */
import type { Millis } from '../../engine/contract.ts';

/** The value of both `low` and `high` in a slot whose row was evicted. */
const EVICTED = -1;

/** An array of slots. A search ends at the first free slot. A `low` of 0 marks a free slot. */
export interface Generation {
  readonly capacity: number;
  /**
   * A key's search starts at the slot `high * scale`, so that rows move from one generation to the next in order, from front to
   * back.
   */
  readonly scale: number;
  /** The number of cells in a slot, which contains the fingerprint and the row. */
  readonly stride: number;
  readonly cells: Float64Array;
  readonly tags: Int32Array;
  /** Number of slots that are not free, because they hold a row or the mark of an evicted row. */
  used: number;
  /** Number of new keys whose rows were added here, not counting rows that moved here from an older generation. */
  added: number;
  /** When this generation started; 0 if that is not known. */
  readonly since: Millis;
  /** Slots before this one have moved to the current generation. */
  moved: number;
  /** The generation before this one, while it still has rows. */
  older: Generation | undefined;
}

/** Creates an empty generation, which starts at the time `since`. */
export function generationOf(capacity: number, stride: number, since: Millis): Generation {
  const cells = new Float64Array(capacity * stride);
  const tags = new Int32Array(cells.buffer);
  return {
    capacity,
    scale: capacity / 2 ** 32,
    stride,
    cells,
    tags,
    used: 0,
    added: 0,
    since,
    moved: 0,
    older: undefined,
  };
}

/** Claims the first free slot for a fingerprint that is not in this generation. */
export function claim(generation: Generation, tagHigh: number, tagLow: number): number {
  const { tags, capacity, scale, stride } = generation;
  const step = 2 * stride;
  let slot = ((tagHigh >>> 0) * scale) | 0;
  while (tags[slot * step] !== 0) if (++slot === capacity) slot = 0;
  tags[slot * step] = tagLow;
  tags[slot * step + 1] = tagHigh;
  generation.used++;
  return slot;
}

export function isRow({ tags, stride }: Generation, slot: number): boolean {
  const at = 2 * slot * stride;
  return tags[at] !== 0 && !(tags[at] === EVICTED && tags[at + 1] === EVICTED);
}

export function markEvicted({ tags, stride }: Generation, slot: number): void {
  const at = 2 * slot * stride;
  tags[at] = EVICTED;
  tags[at + 1] = EVICTED;
}
