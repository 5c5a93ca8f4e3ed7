/**
 * Stores the cells that do not fit into a row's slot, in chains of units within a stripe. A unit is a block of 16 cells. Callers
 * must hold the stripe's lock.
 */
import {
  CHAIN,
  chainLength,
  FREE_UNIT,
  FRESH_UNIT,
  INLINE,
  type Layout,
  UNIT,
  UNITS_LEFT,
} from './layout.ts';

/** Number of units that a row with this many cells needs. */
export function unitsFor(cells: number): number {
  return cells <= INLINE ? 0 : Math.ceil((cells - INLINE) / UNIT);
}

/** The number of cells of a slot's row, including unused cells. */
export function cellsIn(layout: Layout, slot: number): number {
  return INLINE + chainLength(layout, slot) * UNIT;
}

/** Copies the chain of a slot to `to`, after the cells of the slot itself. */
export function readChain(layout: Layout, head: number, slot: number, to: Float64Array): void {
  const { words, cells } = layout;
  const length = chainLength(layout, slot);
  let unit = words[slot + CHAIN];
  for (let i = 0, at = INLINE; i < length; i++, at += UNIT) {
    const from = (head + layout.unitsAt) / 2 + (unit - 1) * UNIT;
    for (let cell = 0; cell < UNIT; cell++) to[at + cell] = cells[from + cell];
    unit = words[head + layout.unitLinksAt + unit - 1];
  }
}

/**
 * Writes the cells that do not fit into a row's slot to a chain of unused units. Returns the first unit plus 1. Enough units must
 * be free.
 */
export function writeChain(layout: Layout, head: number, row: Float64Array, length: number): number {
  const { words, cells } = layout;
  let next = 0;
  for (let i = unitsFor(length) - 1; i >= 0; i--) {
    const unit = claim(layout, head);
    const to = (head + layout.unitsAt) / 2 + (unit - 1) * UNIT;
    const from = INLINE + i * UNIT;
    for (let cell = 0; cell < UNIT; cell++) cells[to + cell] = from + cell < length ? row[from + cell] : 0;
    words[head + layout.unitLinksAt + unit - 1] = next;
    next = unit;
  }
  return next;
}

function claim({ words, unitLinksAt }: Layout, head: number): number {
  words[head + UNITS_LEFT]--;
  const free = words[head + FREE_UNIT];
  if (free === 0) return ++words[head + FRESH_UNIT];
  words[head + FREE_UNIT] = words[head + unitLinksAt + free - 1];
  return free;
}

/** Frees the units of a chain. */
export function freeChain(layout: Layout, head: number, first: number, length: number): void {
  const { words, unitLinksAt } = layout;
  if (length === 0) return;
  let last = first;
  for (let i = 1; i < length; i++) last = words[head + unitLinksAt + last - 1];
  words[head + unitLinksAt + last - 1] = words[head + FREE_UNIT];
  words[head + FREE_UNIT] = first;
  words[head + UNITS_LEFT] += length;
}

/** Frees all units except those in the chains of these slots. */
export function rebuildUnits(layout: Layout, head: number, slots: readonly number[]): void {
  const { words, unitLinksAt, units } = layout;
  const used = new Uint8Array(units + 1);
  for (const slot of slots) {
    const length = chainLength(layout, slot);
    let unit = words[slot + CHAIN];
    for (let i = 0; i < length; i++) {
      used[unit] = 1;
      unit = words[head + unitLinksAt + unit - 1];
    }
  }
  const fresh = words[head + FRESH_UNIT];
  let [free, left] = [0, units - fresh];
  for (let unit = fresh; unit > 0; unit--) {
    if (used[unit] === 1) continue;
    words[head + unitLinksAt + unit - 1] = free;
    free = unit;
    left++;
  }
  words[head + FREE_UNIT] = free;
  words[head + UNITS_LEFT] = left;
}
