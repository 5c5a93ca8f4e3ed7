/** Tests how a table finds rows by key. */
import { describe, expect, test } from 'vitest';
import { fingerprint, high, low, randomSeed, Table } from '../../../src/stores/table/table.ts';
import { NumberedRows, numbersIn, range, sorted } from './rows.ts';

const SEED = Int32Array.of(1, 2);

function tableOf(seed: Int32Array | undefined = SEED) {
  const kind = new NumberedRows();
  const table = new Table(kind, Infinity, seed);
  function add(number: number, weight = 1): void {
    const at = table.add(`key ${number}`, 0);
    table.cells[at] = number;
    table.cells[at + 1] = weight;
  }
  /** The number in a key's row. Undefined if the key has no row. */
  function find(number: number): number | undefined {
    const at = table.find(`key ${number}`);
    return at < 0 ? undefined : table.cells[at];
  }
  return { kind, table, add, find };
}

/** Numbers of keys whose search starts at a slot of an array of 32 slots. */
function numbersAt(slot: number, count: number): number[] {
  const starts = (number: number): boolean => {
    fingerprint(`key ${number}`, SEED);
    return high >>> 27 === slot;
  };
  return range(0, 10_000).filter(starts).slice(0, count);
}

describe('a table', () => {
  test('finds rows that were added, and no others', () => {
    const { table, add, find } = tableOf();
    for (const number of range(0, 20)) add(number);
    for (const number of range(0, 20)) expect(find(number)).toBe(number);
    for (const number of range(20, 100)) expect(find(number)).toBeUndefined();
    expect(table.size).toBe(20);
  });

  test('finds rows that share a slot, also at the end of the array', () => {
    for (const slot of [0, 16, 31]) {
      const { table, add, find } = tableOf();
      const [missing = -1, ...numbers] = numbersAt(slot, 5);
      for (const number of numbers) add(number);
      expect(numbers.map(find)).toEqual(numbers);
      expect(find(missing)).toBeUndefined();
      expect(table.generations.current.cells[3 * slot + 1]).toBe(numbers[0]);
    }
  });

  test('tells keys apart whose fingerprints differ in one half only', () => {
    const { table } = tableOf();
    table.find('key');
    const [ownLow, ownHigh] = [low, high];
    table.addAs(ownLow, ownHigh ^ 1, 0);
    table.addAs(ownLow ^ 2, ownHigh, 0);
    expect(table.find('key')).toBe(-1);
    const at = table.addAs(ownLow, ownHigh, 0);
    expect(table.find('key')).toBe(at);
  });

  test('finds all rows in use, and no dropped row, while rows move to a new generation', () => {
    const { table, add, find } = tableOf();
    table.generations.reserve(240);
    const isInUse = (number: number): boolean => number % 2 === 0;
    for (const number of range(0, 384)) add(number, isInUse(number) ? 1 : 0);
    for (let number = 384; number < 416; number++) {
      add(number);
      const { old, current } = table.generations;
      const rows = new Set([...numbersIn(old), ...numbersIn(current)]);
      const found = range(0, number + 1).filter((any) => find(any) === any);
      expect(found).toEqual(sorted(rows));
    }
    expect(table.generations.old).toBeUndefined();
    expect(table.size).toBe(192 + 32);
  });

  test('exposes the cells of the generation in which the last lookup found its row', () => {
    const { table, add, find } = tableOf();
    for (const number of range(0, 25)) add(number);
    const { old, current } = table.generations;
    find(numbersIn(old)[0]);
    expect(table.cells).toBe(old?.cells);
    find(numbersIn(current)[0]);
    expect(table.cells).toBe(current.cells);
  });

  test('visits all rows in one generation', () => {
    const { table, add } = tableOf();
    for (const number of range(0, 25)) add(number);
    const visited: number[] = [];
    table.each(0, (_low, _high, at) => visited.push(table.cells[at]));
    expect(sorted(visited)).toEqual(range(0, 25));
  });

  test('is empty and usable after it was cleared', () => {
    const { table, add, find } = tableOf();
    for (const number of range(0, 25)) add(number);
    table.clear();
    expect(table.size).toBe(0);
    expect(table.cells).toBe(table.generations.current.cells);
    expect(find(1)).toBeUndefined();
    add(1);
    expect(find(1)).toBe(1);
  });

  test('hashes keys with its seed, or with the seed of the process', () => {
    const own = tableOf();
    own.find(1);
    const ownHigh = high;
    fingerprint('key 1', SEED);
    expect(ownHigh).toBe(high);
    const shared = [undefined, undefined].map(() => {
      new Table(new NumberedRows(), Infinity).find('key 1');
      return high;
    });
    expect(shared[0]).toBe(shared[1]);
    expect(shared[0]).not.toBe(ownHigh);
  });
});

test('a random seed consists of two words and is different each time', () => {
  expect(randomSeed()).toHaveLength(2);
  expect(randomSeed()).not.toEqual(randomSeed());
});
