/** Counts the units that each key is charged in sliding windows: the maximum so far, and the counts over time for a picture. */
import type { Millis } from 'sluice';

/** Tolerance for floating-point error, which must not look like an extra admission. */
const TIME_EPSILON: Millis = 0.0005;

export class WindowCounts {
  /**
   * One entry per admission, across all keys: the largest number of units that a single key had been charged within one window so
   * far.
   */
  readonly worst: Float64Array;
  private readonly per: Millis;
  private readonly cost: number;
  private readonly lists: number[][];
  private readonly heads: Uint32Array;
  private most = 0;

  constructor(per: Millis, keys: number, events: number, cost = 1) {
    this.per = per;
    this.cost = cost;
    this.worst = new Float64Array(events);
    this.lists = Array.from({ length: keys }, () => []);
    this.heads = new Uint32Array(keys);
  }

  add(key: number, at: Millis, index: number): void {
    const list = this.lists[key];
    list.push(at);
    let head = this.heads[key];
    while (list[head] <= at - this.per + TIME_EPSILON) head++;
    this.heads[key] = head;
    this.most = Math.max(this.most, (list.length - head) * this.cost);
    this.worst[index] = this.most;
  }
}

/**
 * For each column of a picture, the maximum number of admissions in a window of length `per` that ends within the column. `times`
 * must be ascending.
 */
export function maximumsOf(
  times: readonly number[],
  per: Millis,
  length: Millis,
  columns: number,
): Float64Array {
  const maximums = new Float64Array(columns);
  const width = length / columns;
  let [head, tail] = [0, 0];
  for (let column = 0; column < columns; column++) {
    const start = column * width;
    while (head < tail && times[head] <= start - per + TIME_EPSILON) head++;
    let most = tail - head;
    while (tail < times.length && times[tail] < start + width) {
      while (head < tail && times[head] <= times[tail] - per + TIME_EPSILON) head++;
      tail++;
      most = Math.max(most, tail - head);
    }
    maximums[column] = most;
  }
  return maximums;
}
