/** Tests the operations on a table that is not full: sweeping, visiting, clearing and reserving. */
import { describe, expect, test } from 'vitest';
import { numbered, numbersIn, range } from './rows.ts';

describe('a sweep', () => {
  test('drops fully replenished rows up to the first row in use, and continues where the last sweep ended', () => {
    const { kind, generations, fill } = numbered(512);
    fill(20, (number) => (number === 10 ? 5 : 0));
    expect(generations.sweep(0, 8)).toBe(8);
    expect(kind.forgotten).toEqual(range(0, 8));
    expect(generations.sweep(0, 8)).toBe(2);
    expect(kind.forgotten).toEqual(range(0, 10));
    expect(generations.size).toBe(10);
  });

  test('starts again at the first slot after it reached a row in use', () => {
    const { kind, generations, add, fill } = numbered(512);
    fill(3, () => 0);
    add(10, 5);
    generations.sweep(0, 20);
    expect(kind.forgotten).toEqual([0, 1, 2]);
    add(11, 0, 0, 5);
    expect(generations.sweep(0, 20)).toBe(10);
    expect(kind.forgotten).toEqual([0, 1, 2, 11]);
  });

  test('starts again at the first slot after it reached the last slot', () => {
    const { kind, generations, add } = numbered(512);
    add(511, 0);
    expect(generations.sweep(0, 100)).toBe(100);
    expect(generations.sweep(0, 500)).toBe(412);
    expect(kind.forgotten).toEqual([511]);
    add(1, 0);
    expect(generations.sweep(0, 2)).toBe(2);
    expect(kind.forgotten).toEqual([511, 1]);
    expect(generations.size).toBe(0);
  });

  test('moves slots of the old generation first, in steps of 16', () => {
    const { kind, generations, add, fill } = numbered(512);
    fill(384, () => 1);
    add(384, 1);
    expect(generations.sweep(0, 16)).toBe(16);
    expect(generations.old?.moved).toBe(32);
    expect(generations.sweep(0, 20)).toBe(32);
    expect(generations.old?.moved).toBe(64);
    kind.weight = 0;
    // 448 slots are left in the old generation, of which 320 have rows.
    expect(generations.sweep(0, 460)).toBe(460);
    expect(generations.old).toBeUndefined();
    expect(kind.forgotten.slice(0, 320)).toEqual(range(64, 384));
    // The other 12 slots are in the new generation, which has 832 slots.
    expect(kind.forgotten.slice(320)).toEqual(range(0, 8));
  });

  test('examines no slot of the new generation if moving the last rows has used up its slots', () => {
    const { kind, generations, add, fill } = numbered(512);
    fill(384, () => 1);
    add(384, 1);
    while (generations.old !== undefined) expect(generations.sweep(0, 5)).toBe(16);
    kind.weighed = [];
    expect(generations.sweep(0, 5)).toBe(0);
    expect(kind.weighed).toEqual([0]);
  });
});

describe('each', () => {
  test('visits the rows in use with their fingerprints and positions', () => {
    const { generations } = numbered(32);
    const rows = [
      [7, 1 << 27, 1],
      [8, 2 << 27, 0],
      [-1, 3 << 27, -1],
      [9, -1, 1],
    ];
    for (const [low, high, weight] of rows) {
      const at = generations.add(high, low, 0);
      generations.current.cells[at + 1] = weight;
    }
    const visited: number[][] = [];
    generations.each(0, (low, high, at) => visited.push([low, high, at]));
    expect(visited).toEqual([
      [7, 1 << 27, 4],
      [-1, 3 << 27, 10],
      [9, -1, 94],
    ]);
  });

  test('skips evicted rows', () => {
    const { generations, add, fill } = numbered(512, 16);
    fill(16, () => 1);
    add(16, 1);
    const visited: number[] = [];
    generations.each(0, (_low, _high, at) => visited.push(generations.current.cells[at]));
    expect(visited).toHaveLength(16);
    expect(visited).toEqual(numbersIn(generations.current));
  });
});

test('a cleared table has no rows and 32 slots', () => {
  const { generations, add, fill } = numbered(512);
  fill(384, () => 1);
  add(384, 1);
  expect(generations.old).toBeDefined();
  generations.clear();
  expect(generations.size).toBe(0);
  expect(generations.old).toBeUndefined();
  expect(generations.current).toMatchObject({ capacity: 32, used: 0 });
});

test('reserving room for 101 rows allocates twice as many slots, plus 32', () => {
  const { generations } = numbered(32);
  generations.reserve(101);
  expect(generations.current.capacity).toBe(234);
});
