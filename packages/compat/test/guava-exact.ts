/**
 * Implements Guava's documented rules with exact fractions. All state is kept as time (a permit is 1/rate seconds), so a new
 * rate does not change the state.
 */

/** A number of microseconds, as numerator and denominator. */
type Fraction = readonly [bigint, bigint];

function reduced(n: bigint, d: bigint): Fraction {
  let [a, b] = [n < 0n ? -n : n, d];
  while (b > 0n) [a, b] = [b, a % b];
  return a === 0n ? [0n, 1n] : [n / a, d / a];
}
const of = (value: number): Fraction => [BigInt(value), 1n];
const add = ([a, b]: Fraction, [c, d]: Fraction): Fraction => reduced(a * d + c * b, b * d);
const sub = (x: Fraction, [c, d]: Fraction): Fraction => add(x, [-c, d]);
const times = ([a, b]: Fraction, [c, d]: Fraction): Fraction => reduced(a * c, b * d);
const over = ([a, b]: Fraction, [c, d]: Fraction): Fraction => reduced(a * d, b * c);
const less = ([a, b]: Fraction, [c, d]: Fraction): boolean => a * d < c * b;
const least = (x: Fraction, y: Fraction): Fraction => (less(x, y) ? x : y);
const floor = ([a, b]: Fraction): number => Number(a / b);

interface Shape {
  readonly warmup: number | undefined;
  readonly coldFactor: number | undefined;
  readonly maxBurstSeconds: number | undefined;
}

export interface ExactPace {
  setRate(rate: number): void;
  waitAt(now: number): number;
  book(permits: number, now: number): number;
}

/** A limiter that computes with exact fractions. Rates and permits must be integers. Times are in whole microseconds. */
export function exactPace(shape: Shape, firstRate: number, created: number): ExactPace {
  const warmup = shape.warmup === undefined ? undefined : of(shape.warmup * 1000);
  const coldFactor = of(shape.coldFactor ?? 1);
  const threshold = warmup === undefined ? of(0) : over(warmup, of(2));
  const coldest = warmup === undefined ? of(1) : over(times(of(2), warmup), add(of(1), coldFactor));
  const max = warmup === undefined ? of((shape.maxBurstSeconds ?? 1) * 1e6) : add(threshold, coldest);
  /** With a warm-up, stored permits reach their maximum in the warm-up time, whatever that maximum is. */
  const gain = warmup === undefined ? of(1) : over(max, warmup);
  const slope = over(sub(coldFactor, of(1)), coldest);
  let stored = warmup === undefined ? of(0) : max;
  let next = created;
  let rate = firstRate;

  function idle(now: number): void {
    if (now <= next) return;
    stored = least(max, add(stored, times(of(now - next), gain)));
    next = now;
  }

  function price(amount: Fraction): number {
    if (warmup === undefined) return 0;
    const cold = less(threshold, stored) ? sub(stored, threshold) : of(0);
    const fromCold = least(cold, amount);
    const middle = sub(cold, over(fromCold, of(2)));
    const coldPrice = times(fromCold, add(of(1), times(slope, middle)));
    return floor(coldPrice) + floor(sub(amount, fromCold));
  }

  return {
    setRate(changed) {
      rate = changed;
    },
    waitAt: (now) => Math.max(0, next - now),
    book(permits, now) {
      idle(now);
      const wait = next - now;
      const cost = over(of(permits * 1e6), of(rate));
      const fromStore = least(cost, stored);
      next += price(fromStore) + floor(sub(cost, fromStore));
      stored = sub(stored, fromStore);
      return wait;
    },
  };
}
