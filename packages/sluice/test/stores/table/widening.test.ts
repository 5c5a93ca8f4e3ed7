/** Tests tables whose rows get more cells. */
import { expect, test } from 'vitest';
import { Table } from '../../../src/stores/table/table.ts';
import { NumberedRows, numbered, numbersIn, range, sorted } from './rows.ts';

const SEED = Int32Array.of(1, 2);

/** A table with the rows `key 0`, `key 1`, … which are all in use. */
function tableOf(rows: number) {
  const kind = new NumberedRows();
  const table = new Table(kind, Infinity, SEED);
  const add = (number: number): void => {
    const at = table.add(`key ${number}`, 0);
    table.cells[at] = number;
    table.cells[at + 1] = 1;
  };
  for (let number = 0; number < rows; number++) add(number);
  function widen(): void {
    kind.width++;
    table.generations.widen();
  }
  return { kind, table, add, widen };
}

test('the wider generation has room for the rows and for the keys that arrive until all rows have moved', () => {
  const { kind, generations, fill } = numbered(512);
  fill(100, () => 1);
  kind.width = 3;
  generations.widen();
  expect(generations.current).toMatchObject({ capacity: 2 * (100 + 512 / 16), stride: 4, since: 0 });
  expect(generations.old).toMatchObject({ capacity: 512, stride: 3 });
  kind.width = 4;
  generations.widen();
  expect(generations.current).toMatchObject({ capacity: 2 * (100 + (512 + 264) / 16), stride: 5 });
  expect(generations.old?.older).toMatchObject({ capacity: 512, stride: 3 });
});

test('an empty table that is widened has 32 slots', () => {
  const { kind, generations } = numbered(32);
  kind.width = 3;
  generations.widen();
  expect(generations.current.capacity).toBe(32);
});

test('fully replenished rows are kept when they are widened, and dropped when they move again', () => {
  const { kind, generations, fill } = numbered(512);
  fill(32, () => 0);
  kind.width = 3;
  generations.widen();
  while (generations.old !== undefined) generations.move(0);
  expect(kind.forgotten).toEqual([]);
  expect(generations.size).toBe(32);
  expect(kind.widths).toEqual([]);
  expect(numbersIn(generations.current)).toEqual(range(0, 32));
  generations.sweep(0, 1000);
  expect(kind.widths).toEqual(range(0, 32).map(() => 3));
  expect(generations.size).toBe(0);
});

test('an eviction weighs each row with the number of cells that it has', () => {
  const { kind, generations, add, fill } = numbered(512, 32);
  fill(32, () => 1);
  kind.width = 3;
  generations.widen();
  add(32, 1);
  expect(new Set(kind.widths)).toEqual(new Set([2]));
  // 16 rows have moved, and a new one was added.
  add(33, 1);
  expect(new Set(kind.widths)).toEqual(new Set([2, 3]));
});

test('the new cells are 0 if the rows have no function that fills them in', () => {
  const kind = { width: 1, evictionWeight: () => 1, forget() {} };
  const table = new Table(kind, Infinity, SEED);
  table.cells[table.add('key', 0)] = 7;
  kind.width = 2;
  table.generations.widen();
  const at = table.findWide('key', 0);
  expect([...table.cells.subarray(at, at + 2)]).toEqual([7, 0]);
});

test('a generation that is about to be full receives the rows of all older generations in one step', () => {
  const { kind, generations, add } = numbered(32);
  for (kind.width = 3; kind.width <= 8; kind.width++) generations.widen();
  kind.width = 8;
  for (let number = 0; number < 9; number++) add(number, 1);
  expect(generations.current).toMatchObject({ capacity: 32, used: 9 });
  expect(generations.old?.older).toBeDefined();
  add(9, 1);
  expect(generations.old).toBeUndefined();
  expect(generations.current).toMatchObject({ capacity: 2 * 9 + 32, used: 10 });
  expect(numbersIn(generations.current)).toEqual(range(0, 10));
});

test('keeps the rows of all generations if it is widened several times before they have moved', () => {
  const { kind, generations, add } = numbered(512);
  for (let number = 0; number < 4; number++) {
    add(number, 1);
    kind.width++;
    generations.widen();
  }
  while (generations.old !== undefined) generations.move(0);
  expect(sorted(numbersIn(generations.current))).toEqual([0, 1, 2, 3]);
  expect(generations.size).toBe(4);
});

test('a table that is widened twice moves the oldest rows first', () => {
  const { kind, generations, add, fill } = numbered(512);
  fill(32, () => 1);
  kind.width = 3;
  generations.widen();
  add(32, 1, 0, 500);
  kind.width = 4;
  generations.widen();
  const { old } = generations;
  generations.move(0);
  expect(old?.older?.moved).toBe(32);
  expect(numbersIn(generations.current)).toEqual(range(16, 32));
  for (let i = 2; i < 32; i++) generations.move(0);
  expect(old?.older).toBeUndefined();
  expect(generations.old).toBe(old);
  expect(old?.moved).toBe(0);
  while (generations.old !== undefined) generations.move(0);
  expect(sorted(numbersIn(generations.current))).toEqual(range(0, 33));
});

test('a lookup moves 16 slots and the row that it looks for', () => {
  const { kind, table, widen } = tableOf(200);
  // This moves all rows to one generation.
  table.each(0, () => {});
  widen();
  expect(table.findWide('other key', 0)).toBe(-1);
  const { old, current } = table.generations;
  const number = numbersIn(old).at(-1) ?? -1;
  const at = table.findWide(`key ${number}`, 0);
  expect(old?.moved).toBe(32);
  expect(table.cells).toBe(current.cells);
  expect([...table.cells.subarray(at, at + 3)]).toEqual([number, 1, -number]);
  expect(table.findWide(`key ${number}`, 0)).toBe(at);
  expect(table.findWide('other key', 0)).toBe(-1);
  expect(numbersIn(old)).not.toContain(number);
  expect(kind.forgotten).toEqual([]);
  expect(table.size).toBe(200);
});

test('finds every row, each extended once, while the rows of two older generations move', () => {
  const { table, add, widen } = tableOf(500);
  widen();
  for (let number = 500; number < 505; number++) add(number);
  widen();
  for (let number = 504; number >= 0; number--) {
    const at = table.findWide(`key ${number}`, 0);
    expect(table.cells).toBe(table.generations.current.cells);
    expect(table.cells[at]).toBe(number);
  }
  expect(table.findWide('other key', 0)).toBe(-1);
  while (table.generations.old !== undefined) table.findWide('other key', 0);
  expect(table.size).toBe(505);
});

test('a lookup does not move a row that already has all cells; the row moves when its turn comes', () => {
  const { kind, table, add } = tableOf(0);
  table.generations.reserve(240);
  for (let number = 0; number < 385; number++) add(number);
  const { old } = table.generations;
  const number = numbersIn(old).at(-1) ?? -1;
  const at = table.findWide(`key ${number}`, 0);
  expect(old?.moved).toBe(32);
  expect(table.cells).toBe(old?.cells);
  expect(table.cells[at]).toBe(number);
  expect(numbersIn(old)).toContain(number);
  expect(kind.forgotten).toEqual([]);
});
