/**
 * Holds a row while the engine decides. The row is copied out of the buffer, changed, and compared with the original.
 * In the buffer, the cell of a variable-length policy holds the length of its row, and the row itself follows all cells.
 * Zeros at the end are left out.
 */
import type { Cells, Decision, Hit, Plan, VariableRows } from '../../engine/contract.ts';
import { INLINE, type Layout, ROW_CELL } from './layout.ts';
import { cellsIn, readChain } from './units.ts';

/** The row that a pointer of 0 refers to. It is too short for an entry, so the first take replaces it with a longer copy. */
const NONE: Cells = new Float64Array(3);

export class Scratch implements VariableRows {
  /** The cells of the row, with pointers to variable-length rows. */
  cells: Cells = new Float64Array(INLINE);
  /** The row to write. Valid after `changed` returned true. */
  next: Cells = this.cells;
  length = 0;
  private readonly rows: Cells[] = [NONE];
  /** The row as it was read. */
  private image: Cells = new Float64Array(INLINE);
  private imageLength = 0;
  private readonly layout: Layout;

  constructor(layout: Layout) {
    this.layout = layout;
  }

  get(pointer: number): Cells {
    return this.rows[pointer];
  }

  put(pointer: number, row: Cells): number {
    const place = pointer === 0 ? this.rows.length : pointer;
    this.rows[place] = row;
    return place;
  }

  /** Reads the row of a slot. Slot −1 is a row of zeros. */
  load(plan: Plan, head: number, slot: number): void {
    const { layout } = this;
    const { width } = plan;
    this.rows.length = 1;
    this.imageLength = slot < 0 ? width : cellsIn(layout, slot);
    this.image = roomFor(this.image, this.imageLength);
    this.cells = roomFor(this.cells, width);
    const { image, cells } = this;
    if (slot < 0) {
      for (let i = 0; i < width; i++) cells[i] = image[i] = 0;
      return;
    }
    for (let i = 0; i < INLINE; i++) image[i] = layout.cells[slot / 2 + ROW_CELL + i];
    if (this.imageLength > INLINE) readChain(layout, head, slot, image);
    for (let i = 0; i < width; i++) cells[i] = image[i];
    let at = width;
    for (const { grows, offset } of plan.slots) {
      if (!grows || image[offset] === 0) continue;
      const row = new Float64Array(image[offset]);
      row.set(image.subarray(at, Math.min(at + row.length, this.imageLength)));
      cells[offset] = this.put(0, row);
      at += row.length;
    }
  }

  /** Whether the engine has changed the row. If so, `next` is the row to write. */
  changed(plan: Plan): boolean {
    const { width, slots } = plan;
    this.next = this.cells;
    this.length = width;
    if (this.rows.length > 1) {
      for (const { grows, offset } of slots) if (grows) this.length += this.rowAt(offset)?.length ?? 0;
      this.next = new Float64Array(this.length);
      this.next.set(this.cells.subarray(0, width));
      let at = width;
      for (const { grows, offset } of slots) {
        const row = grows ? this.rowAt(offset) : undefined;
        if (row === undefined) continue;
        this.next[offset] = row.length;
        this.next.set(row, at);
        at += row.length;
      }
      // Reserved room without entries is not stored.
      while (this.next[this.length - 1] === 0) this.length--;
    }
    if (this.length > this.imageLength) return true;
    for (let i = 0; i < this.length; i++) if (this.next[i] !== this.image[i]) return true;
    for (let i = this.length; i < this.imageLength; i++) if (this.image[i] !== 0) return true;
    return false;
  }

  private rowAt(offset: number): Cells | undefined {
    return this.cells[offset] === 0 ? undefined : this.rows[this.cells[offset]];
  }
}

/**
 * Whether it is certain that a hit did not change its row, so that the row need not be compared with its original. This halves
 * the work of denying a key with a long sliding log.
 */
export function isUntouched({ verb, plan, mode }: Hit, { taken }: Decision): boolean {
  if (verb === 'peek') return true;
  if (taken > 0 || mode === 'always' || (verb !== 'take' && verb !== 'reserve')) return false;
  return !plan.policies.some(({ algorithm }) => algorithm.countsDenials);
}

function roomFor(cells: Cells, length: number): Cells {
  return cells.length >= length ? cells : new Float64Array(2 * length);
}
