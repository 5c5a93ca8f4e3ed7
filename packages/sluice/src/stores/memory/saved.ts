/** Saves the rows of a store as plain data, for a copy in another process. The data contains no keys, only their fingerprints. */
import type { Millis, Plan } from '../../engine/contract.ts';
import { blockTable, NOTE, type Space } from './space.ts';
import type { Spaces } from './spaces.ts';

export interface Saved {
  /** The seed of the fingerprints. */
  readonly seed: readonly number[];
  readonly tables: readonly SavedTable[];
  /** The ends of manual blocks, by fingerprint. */
  readonly blocks: readonly { readonly name: string; readonly rows: Float64Array; readonly count: number }[];
}

export interface SavedTable {
  readonly plans: readonly Plan[];
  /** The number of cells in a row. */
  readonly width: number;
  readonly rows: Float64Array;
  /** The number of rows. */
  readonly count: number;
}

/** Copies every row and manual block that is in use. */
export function save(spaces: Spaces, now: Millis): Saved {
  const tables: SavedTable[] = [];
  const blocks: Saved['blocks'][number][] = [];
  for (const group of spaces.groups.values()) {
    for (const space of group.spaces.values())
      tables.push({ plans: space.plans, width: space.width, ...saveRows(space, now) });
    const table = group.blocks;
    if (table === undefined) continue;
    const out = new CellWriter();
    table.each(now, (low, high, at) => {
      out.tag(low, high);
      out.put(table.cells, at, 1);
    });
    blocks.push({ name: group.name, ...out.written() });
  }
  return { seed: [...spaces.seed], tables, blocks };
}

/** Adds the saved rows to a store, which must be empty and have the same seed as the saved store. */
export function restore(spaces: Spaces, { tables, blocks }: Saved, now: Millis): void {
  for (const { plans, width, rows, count } of tables) {
    const [space] = plans.map((plan) => spaces.of(plan, now));
    if (width === space.width + NOTE) space.beginNotes();
    if (width !== space.width)
      throw new RangeError(`the saved rows have ${width} cells, but their plan needs ${space.width}`);
    space.table.generations.reserve(Math.min(count, rows.length));
    restoreRows(space, rows, now);
  }
  for (const { name, rows, count } of blocks) {
    const group = spaces.group(name);
    const table = blockTable(spaces.maxKeys, spaces.seed);
    group.blocks = table;
    table.generations.reserve(Math.min(count, rows.length));
    for (const from = new CellReader(rows); from.hasMore; ) {
      const at = table.addAs(...from.tag(), now);
      table.cells.set(from.take(1), at);
    }
  }
}

function saveRows({ table, width, plans, variableRows }: Space, now: Millis): Written {
  const out = new CellWriter();
  const pointers = pointersOf(plans[0]);
  table.each(now, (low, high, at) => {
    const { cells } = table;
    out.tag(low, high);
    out.put(cells, at, width);
    for (const offset of pointers)
      out.row(cells[at + offset] === 0 ? [] : variableRows.get(cells[at + offset]));
  });
  return out.written();
}

function restoreRows({ table, width, plans, variableRows }: Space, rows: Float64Array, now: Millis): void {
  const pointers = pointersOf(plans[0]);
  for (const from = new CellReader(rows); from.hasMore; ) {
    const at = table.addAs(...from.tag(), now);
    table.cells.set(from.take(width), at);
    for (const offset of pointers) {
      const row = from.row();
      table.cells[at + offset] = row.length === 0 ? 0 : variableRows.put(0, row);
    }
  }
}

/** Offsets of the cells that point to variable-length rows. */
function pointersOf({ policies }: Plan): number[] {
  return policies.filter(({ grows }) => grows).map(({ offset }) => offset);
}

interface Written {
  readonly rows: Float64Array;
  readonly count: number;
}

/**
 * Writes rows one after the other. Each row consists of its fingerprint, its cells, and each variable-length row with its length
 * before it.
 */
class CellWriter {
  #cells = new Float64Array(1024);
  #tags = new Int32Array(this.#cells.buffer);
  #length = 0;
  #count = 0;

  /**
   * Writes the fingerprint as two integers, because a fingerprint read as a float64 may be a NaN, whose bits can change in
   * transit.
   */
  tag(low: number, high: number): void {
    this.#room(1);
    this.#tags[2 * this.#length] = low;
    this.#tags[2 * this.#length + 1] = high;
    this.#length++;
    this.#count++;
  }

  put(cells: Float64Array, at: number, count: number): void {
    this.#room(count);
    for (let i = 0; i < count; i++) this.#cells[this.#length++] = cells[at + i];
  }

  row(cells: ArrayLike<number>): void {
    this.#room(cells.length + 1);
    this.#cells[this.#length++] = cells.length;
    this.#cells.set(cells, this.#length);
    this.#length += cells.length;
  }

  written(): Written {
    return { rows: this.#cells.subarray(0, this.#length), count: this.#count };
  }

  #room(count: number): void {
    if (this.#length + count <= this.#cells.length) return;
    const larger = new Float64Array(2 * (this.#length + count));
    new Uint8Array(larger.buffer).set(new Uint8Array(this.#cells.buffer, 0, 8 * this.#length));
    this.#cells = larger;
    this.#tags = new Int32Array(larger.buffer);
  }
}

/** Reads what a CellWriter wrote. Throws if the data ends too early. */
class CellReader {
  readonly #cells: Float64Array;
  readonly #tags: Int32Array;
  #at = 0;

  constructor(cells: Float64Array) {
    this.#cells = cells;
    this.#tags = new Int32Array(cells.buffer, cells.byteOffset, 2 * cells.length);
  }

  get hasMore(): boolean {
    return this.#at < this.#cells.length;
  }

  tag(): [low: number, high: number] {
    const at = 2 * this.#at++;
    return [this.#tags[at], this.#tags[at + 1]];
  }

  take(count: number): Float64Array {
    if (this.#at + count > this.#cells.length) throw new RangeError('the rows end too early');
    this.#at += count;
    return this.#cells.subarray(this.#at - count, this.#at);
  }

  row(): Float64Array {
    const [length] = this.take(1);
    return this.take(length).slice();
  }
}
