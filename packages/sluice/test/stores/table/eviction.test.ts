/** Tests which row a full table evicts. */
import { describe, expect, test } from 'vitest';
import { numbered, numbersIn, range } from './rows.ts';

describe('a full table', () => {
  test('compares 16 neighbors and evicts the row whose weight is nearest to 0', () => {
    const weights: Record<number, number> = { 0: 1, 10: 3, 17: 2 };
    const { kind, generations, add, fill } = numbered(512, 64);
    fill(64, (number) => weights[number] ?? 50);
    expect(kind.weighed).toEqual([]);
    add(64, 50, 0, 400);
    expect(kind.weighed).toEqual(range(1, 17));
    expect(kind.forgotten).toEqual([10]);
    add(65, 50, 0, 401);
    expect(kind.weighed).toEqual(range(1, 33));
    expect(kind.forgotten).toEqual([10, 17]);
    expect(generations).toMatchObject({ size: 64, evictions: 2 });
    expect(numbersIn(generations.current)).not.toContain(10);
    // The slot of an evicted row stays in use until the next generation.
    expect(generations.current.used).toBe(66);
  });

  test('evicts the denied key whose weight is nearest to 0 if all keys are denied', () => {
    const { kind, fill, add } = numbered(512, 64);
    fill(64, (number) => (number === 40 ? -2 : -5));
    add(64, 50, 0, 400);
    expect(kind.forgotten).toEqual([40]);
  });

  test('continues at the first slot after the last one', () => {
    const { kind, add } = numbered(512, 32);
    for (const slot of [...range(0, 16), ...range(496, 512)]) add(slot, slot === 0 ? 1 : 50);
    add(100, 50);
    expect(kind.weighed).toEqual(range(1, 16).concat(496));
    kind.weighed = [];
    add(101, 50);
    expect(kind.weighed).toEqual(range(497, 512).concat(0));
    expect(kind.forgotten[1]).toBe(0);
  });

  test('counts an eviction only if the row was in use', () => {
    const { kind, generations, add, fill } = numbered(512, 16);
    fill(16, () => 0);
    add(16, 0);
    expect(kind.forgotten).toHaveLength(1);
    expect(generations).toMatchObject({ size: 16, evictions: 0 });
  });

  test('stops after 16 rows if one of them is fully replenished', () => {
    const { kind, add, fill } = numbered(512, 64);
    fill(64, (number) => (number === 5 ? 0 : -5));
    add(64, 50, 0, 400);
    expect(kind.weighed).toEqual(range(1, 17));
    expect(kind.forgotten).toEqual([5]);
  });

  test('examines all of its rows if it has fewer than 16', () => {
    const { kind, generations, add, fill } = numbered(32, 4);
    fill(4, (number) => 10 - number);
    add(4, 50);
    expect(kind.weighed).toEqual([1, 2, 3, 0]);
    expect(kind.forgotten).toEqual([3]);
    expect(generations.size).toBe(4);
  });

  test('examines up to 512 slots while the best candidate is denied', () => {
    const { kind, add, fill } = numbered(4096, 600);
    fill(600, (number) => (number === 512 ? 3 : -5));
    add(600, -5, 0, 2000);
    expect(kind.weighed).toEqual(range(1, 513));
    expect(kind.forgotten).toEqual([512]);
  });

  test('examines 16 slots for 32 evictions after a search of 512 slots found only denied keys', () => {
    const { kind, add, fill } = numbered(4096, 1600);
    fill(1600, () => -5);
    const examined: number[] = [];
    for (let i = 0; i < 35; i++) {
      kind.weighed = [];
      add(1600 + i, -5, 0, 4000);
      examined.push(kind.weighed.length);
    }
    expect(examined).toEqual([512, ...range(0, 32).map(() => 16), 512, 16]);
  });

  test.each([0, 3])(
    'examines 512 slots again for the next eviction if it found a key with a weight of %d',
    (weight) => {
      const { kind, add, fill } = numbered(4096, 1600);
      fill(1600, (number) => (number === 512 ? weight : -5));
      add(1600, -5, 0, 4000);
      kind.weighed = [];
      add(1601, -5, 0, 4000);
      expect(kind.weighed).toEqual(range(513, 1025));
    },
  );
});

describe('a full table that is moving its rows to a new generation', () => {
  test('evicts a row that has not moved yet', () => {
    const { kind, generations, add, fill } = numbered(512, 380);
    fill(380, () => 50);
    const { cells, stride } = generations.current;
    // Each of these keys evicts a row. The evictions examine slots 1 to 80, and the last key starts a generation of 832 slots.
    for (let number = 380; number < 385; number++) add(number, 50);
    expect(generations.old?.moved).toBe(16);
    cells[56 * stride + 2] = 2;
    add(385, 50);
    // Slot 81 of the new generation corresponds to slot 49 of the old one.
    expect(kind.forgotten[5]).toBe(56);
    expect(numbersIn(generations.old)).not.toContain(56);
    expect(generations.size).toBe(380);
  });

  test('adds a key without an eviction if the new array is so small that the eviction skips the only row', () => {
    const { kind, generations, add } = numbered(1024, 1);
    add(4, 1);
    kind.width = 3;
    // The new array has 130 slots, so the eviction examines only every eighth slot of the old one.
    generations.widen();
    add(0, 1);
    expect(generations).toMatchObject({ size: 2, evictions: 0 });
    expect(kind.forgotten).toEqual([]);
  });

  test('does not evict the old copy of a row that has moved', () => {
    const weights: Record<number, number> = { 0: 1, 16: 2 };
    const { kind, generations, add, fill } = numbered(512, 385);
    fill(384, (number) => weights[number] ?? 50);
    add(384, 50, 0, 500);
    expect(generations.old?.moved).toBe(16);
    add(385, 50, 0, 500);
    // Row 0 has moved. The eviction examines its new generation from the second slot on, and the old one from slot 16 on.
    expect(kind.forgotten).toEqual([16]);
    expect(generations.size).toBe(385);
  });
});
