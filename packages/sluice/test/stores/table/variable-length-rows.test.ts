import { expect, test } from 'vitest';
import { RowHeap } from '../../../src/stores/table/variable-length-rows.ts';

const ROW = Float64Array.of(1, 2, 3);
const EMPTY = Float64Array.of(0, 0, 0);

test('forgetting the pointer 0, which means an empty row, does not give this pointer to another row', () => {
  const heap = new RowHeap();
  heap.forget(0);
  const pointer = heap.put(0, ROW);
  expect(pointer).toBeGreaterThan(0);
  expect(heap.get(0)).toEqual(EMPTY);
  expect(heap.get(pointer)).toBe(ROW);
});

test('a row that grows keeps its pointer, and the pointer of a forgotten row is used again', () => {
  const heap = new RowHeap();
  const [first, second] = [heap.put(0, ROW), heap.put(0, ROW)];
  const grown = Float64Array.of(1, 2, 3, 4);
  expect(heap.put(first, grown)).toBe(first);
  expect(heap.get(first)).toBe(grown);
  heap.forget(second);
  expect(heap.get(second)).toEqual(EMPTY);
  expect(heap.put(0, ROW)).toBe(second);
  expect(heap.put(0, ROW)).not.toBe(second);
});
