/** Rows for the tests of tables, and a table that puts a row into any slot. */
import { Generations, type RowKind } from '../../../src/stores/table/generations.ts';
import { type Generation, isRow } from '../../../src/stores/table/generation.ts';

/** Rows of two cells, which hold a number that identifies the row, and the row's eviction weight. */
export class NumberedRows implements RowKind {
  width = 2;
  /** The numbers of the rows whose eviction weight was computed. */
  weighed: number[] = [];
  /** For each of these rows, how many cells it had according to the table. */
  widths: number[] = [];
  /** The numbers of the rows that were dropped. */
  forgotten: number[] = [];
  /** If set, the eviction weight of every row. */
  weight: number | undefined;

  evictionWeight(cells: Float64Array, at: number, _now: number, width: number): number {
    this.weighed.push(cells[at]);
    this.widths.push(width);
    return this.weight ?? cells[at + 1];
  }

  forget(cells: Float64Array, at: number): void {
    this.forgotten.push(cells[at]);
  }

  /** The third cell of a wider row holds the row's negated number. */
  extend(cells: Float64Array, at: number): void {
    cells[at + 2] -= cells[at];
  }
}

/** Generations whose first one has this many slots (at least 32), and functions that add rows. */
export function numbered(slots: number, maxKeys = Infinity) {
  const kind = new NumberedRows();
  const generations = new Generations(kind, maxKeys);
  generations.reserve((slots - 32) / 2);

  /** Adds a row to a slot of an array of `slots` slots, or to the next free one. In a larger array, the slot is proportionally higher. */
  function add(number: number, weight: number, now = 0, slot = number): void {
    const at = generations.add(Math.ceil((slot / slots) * 2 ** 32) | 0, number + 1, now);
    generations.current.cells[at] = number;
    generations.current.cells[at + 1] = weight;
  }

  /** Adds rows 0, 1, 2, … to slots 0, 1, 2, … */
  function fill(count: number, weightOf: (number: number) => number, now = 0): void {
    for (let number = 0; number < count; number++) add(number, weightOf(number), now);
  }

  return { kind, generations, add, fill };
}

/** The numbers of the rows in a generation, in the order of their slots. Excludes rows that have moved to a newer generation. */
export function numbersIn(generation: Generation | undefined): number[] {
  if (generation === undefined) return [];
  const { capacity, stride, cells, moved } = generation;
  const slots = Array.from({ length: capacity }, (_, slot) => slot);
  return slots
    .filter((slot) => slot >= moved && isRow(generation, slot))
    .map((slot) => cells[slot * stride + 1]);
}

/** The integers from `start` up to but not including `end`. */
export function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

export function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
