/** The values that sliders offer. */
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function decades(steps: readonly number[], from: number, to: number): number[] {
  const values: number[] = [];
  for (let power = from; power <= to; power *= 10)
    for (const step of steps) values.push(Number((step * power).toPrecision(3)));
  return values.filter((value) => value <= to);
}

export const COUNTS: readonly number[] = [
  ...Array.from({ length: 20 }, (_, i) => i + 1),
  25,
  30,
  40,
  50,
  60,
  75,
  100,
  ...decades([1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10], 100, 10_000),
];

export const RATES: readonly number[] = decades([1, 1.5, 2, 3, 5, 7], 0.1, 3000);

export const SPANS: readonly number[] = [
  100,
  200,
  500,
  ...[1, 2, 5, 10, 15, 20, 30].map((value) => value * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((value) => value * MINUTE),
  ...[1, 2, 6, 12].map((value) => value * HOUR),
  DAY,
];

export const LENGTHS: readonly number[] = [
  ...[2, 5, 10, 20, 30, 40].map((value) => value * SECOND),
  ...[1, 2, 5, 10, 20].map((value) => value * MINUTE),
  ...[1, 6].map((value) => value * HOUR),
  DAY,
];

export const PATIENCES: readonly number[] = [0, 1, 5, 20, 60].map((value) => value * SECOND);
