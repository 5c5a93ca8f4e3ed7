/** Tests when a table starts a new generation, how large it is, and how rows move to it. */
import { describe, expect, test } from 'vitest';
import { numbered, numbersIn, range, sorted } from './rows.ts';

const START = 1_700_000_000_000;

describe('a table', () => {
  test('starts a generation when three quarters of its slots are used', () => {
    const { generations, add, fill } = numbered(32);
    fill(24, () => 1);
    expect(generations.current).toMatchObject({ capacity: 32, used: 24, added: 24 });
    expect(generations.old).toBeUndefined();
    add(24, 1, START);
    // Room for the 24 rows in use and for the 2 keys that arrive until all 32 slots have moved, times two.
    expect(generations.current).toMatchObject({ capacity: 52, used: 17, added: 1, since: START });
    expect(generations.old).toMatchObject({ capacity: 32, moved: 16 });
    expect(generations.size).toBe(25);
  });

  test('moves 16 slots with each new key, from front to back, and then drops the old generation', () => {
    const { generations, add, fill } = numbered(2048);
    fill(1536, () => 1);
    for (let step = 1; step < 128; step++) {
      add(1535 + step, 1, START, 2000);
      expect(generations.old?.moved).toBe(16 * step);
    }
    expect(numbersIn(generations.current).filter((number) => number < 1536)).toEqual(range(0, 1536));
    add(1663, 1, START, 2000);
    expect(generations.old).toBeUndefined();
    expect(sorted(numbersIn(generations.current))).toEqual(range(0, 1664));
    expect(generations.current).toMatchObject({ used: 1664, added: 128 });
    expect(generations.size).toBe(1664);
  });

  test('drops fully replenished rows instead of moving them, and keeps rows of denied keys', () => {
    const { kind, generations, add, fill } = numbered(32);
    fill(24, (number) => [0, 1, -1][number % 3]);
    const isReplenished = (number: number): boolean => number % 3 === 0;
    add(24, 1, START, 31);
    expect(kind.forgotten).toEqual(range(0, 16).filter(isReplenished));
    add(25, 1, START, 31);
    expect(kind.forgotten).toEqual(range(0, 24).filter(isReplenished));
    expect(numbersIn(generations.current)).toEqual(range(0, 26).filter((n) => n >= 24 || !isReplenished(n)));
    expect(generations.size).toBe(18);
  });

  test('estimates from a sample how many rows are in use', () => {
    const { kind, generations, add, fill } = numbered(2048);
    fill(1536, (number) => (number < 768 ? 1 : 0));
    kind.weighed = [];
    add(1536, 1, START);
    // Half of the rows are in use. 128 keys arrive until all 2048 slots have moved.
    expect(generations.current.capacity).toBe(2 * (768 + 128));
    // The sample has 128 slots, of which the last quarter is free. Then, 16 slots are moved.
    expect(kind.weighed).toHaveLength(96 + 16);
  });

  test('does not shrink below 512 slots', () => {
    const { generations, add, fill } = numbered(2048);
    fill(1536, () => 0);
    add(1536, 1, START);
    expect(generations.current.capacity).toBe(512);
  });

  test('keeps its number of slots if it has fewer than 512', () => {
    const { generations, add, fill } = numbered(320);
    fill(240, () => 0);
    add(240, 1, START);
    expect(generations.current.capacity).toBe(320);
  });

  test.each([
    { age: 500, maxKeys: Infinity, expected: 24, case: 'all keys were added in the last second' },
    { age: 1250, maxKeys: Infinity, expected: 19.2, case: 'keys were added in the last 1.25 seconds' },
    { age: 500, maxKeys: 20, expected: 20, case: 'more than maxKeys keys were added in the last second' },
  ])('has room for the keys that are added in a second if $case', ({ age, maxKeys, expected }) => {
    const { generations, add, fill } = numbered(32, maxKeys);
    fill(24, () => 0);
    add(0, 0, START);
    add(1, 0, START, 1);
    // The two rows are in a generation that started at START.
    expect(generations.old).toBeUndefined();
    for (let number = 2; number < 24; number++) add(number, 0, START);
    expect(generations.current).toMatchObject({ capacity: 32, used: 24, added: 24, since: START });
    add(24, 0, START + age);
    expect(generations.current.capacity).toBe(Math.ceil(2 * (expected + 2)));
  });
});

describe('a table whose new generation is too small for the rows in use', () => {
  /** A table in which all 1536 rows look fully replenished until the next generation has been allocated. */
  function underestimated() {
    const table = numbered(2048);
    table.fill(1536, () => 1);
    table.kind.weight = 0;
    table.add(1536, 1, START, 2047);
    table.kind.weight = undefined;
    expect(table.generations.current.capacity).toBe(512);
    expect(table.kind.forgotten).toEqual(range(0, 16));
    return table;
  }

  test('moves all rows in one step to a larger generation when the small one is about to be full', () => {
    const { generations, add } = underestimated();
    const { current } = generations;
    // A sweep moves 16 rows, and a new key moves 16 rows and adds one: 1 + 7 * 16 + 15 * 17 = 368.
    for (let i = 0; i < 7; i++) generations.sweep(START, 1);
    for (let i = 0; i < 15; i++) add(1537 + i, 1, START, 2047);
    expect(current.used).toBe(368);
    generations.sweep(START, 1);
    expect(current.used).toBe(384);
    expect(generations.current).toBe(current);
    generations.sweep(START + 1, 1);
    expect(generations.old).toBeUndefined();
    // Twice the number of rows, which is 1536 - 16 + 16, and 32 more slots.
    expect(generations.current).toMatchObject({
      capacity: 2 * 1536 + 32,
      used: 1536,
      added: 16,
      since: START,
    });
    expect(sorted(numbersIn(generations.current))).toEqual(range(16, 1552));
    expect(generations.size).toBe(1536);
  });
});
