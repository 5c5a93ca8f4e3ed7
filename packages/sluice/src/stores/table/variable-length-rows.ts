/** Keeps variable-length rows by number. The numbers of dropped rows are used again. */
import type { Cells, VariableRows } from '../../engine/contract.ts';

/**
 * The row that a pointer of 0 refers to. It is too short to be written to, so the first take makes a copy with room for an entry.
 */
const NONE: Cells = new Float64Array(3);

export class RowHeap implements VariableRows {
  readonly #rows: Cells[] = [NONE];
  readonly #free: number[] = [];

  get(pointer: number): Cells {
    return this.#rows[pointer];
  }

  put(pointer: number, row: Cells): number {
    const place = pointer === 0 ? (this.#free.pop() ?? this.#rows.length) : pointer;
    this.#rows[place] = row;
    return place;
  }

  forget(pointer: number): void {
    if (pointer === 0) return;
    this.#rows[pointer] = NONE;
    this.#free.push(pointer);
  }
}
