/** The rows that outgrew the table, by number; numbers of forgotten ones are used again. */
import type { Cells, VariableRows } from '../../engine/contract.ts';

/** What a pointer of 0 points to. Too short to be written to: a first take asks for room and gets a copy. */
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
