/**
 * The arithmetic of Guava's RateLimiter, to the last bit: whole microseconds, and permits as float64. Fractions of a
 * microsecond are dropped, each part of a price for itself.
 *
 * Why not the pacer of the core: it counts the permits spent, Guava those stored. The two differ in the last bit of a
 * float64, which now and then is a microsecond, and that can turn the answer to a timeout.
 */

/** How many permits idle time stores at some rate, and what they cost. Spans in microseconds. */
interface Storage {
  /** Most permits stored. */
  readonly max: number;
  /** Idle microseconds that store one permit. */
  readonly refill: number;
  /** Microseconds that the next one waits for `amount` of the permits `stored`. */
  price(stored: number, amount: number): number;
  /** Stored when the rate before this one could store none. */
  readonly afterNone: number;
  /** Stored when the rate before this one was infinite. */
  readonly afterInfinity: number;
}

export type StorageAt = (rate: number, interval: number) => Storage;

/** Idle time stores up to `burstSeconds` of permits, to be spent without delay. */
export function bursty(burstSeconds: number): StorageAt {
  return (rate, interval) => {
    // An infinite rate times none is none.
    const max = burstSeconds === 0 ? 0 : burstSeconds * rate;
    return { max, refill: interval, price: () => 0, afterNone: 0, afterInfinity: max };
  };
}

/** Stored permits are cold: they cost up to `coldFactor` times as much as fresh ones. */
export function warmingUp(warmup: number, coldFactor: number): StorageAt {
  return (_, interval) => {
    const coldInterval = interval * coldFactor;
    const threshold = (0.5 * warmup) / interval;
    const max = warmup === 0 ? 0 : threshold + (2 * warmup) / (interval + coldInterval);
    const slope = (coldInterval - interval) / (max - threshold);
    return {
      max,
      refill: warmup / max,
      price(stored, amount) {
        const cold = stored > threshold ? stored - threshold : 0;
        const fromCold = Math.min(cold, amount);
        const edges = interval + cold * slope + (interval + (cold - fromCold) * slope);
        return micros((fromCold * edges) / 2) + micros((amount - fromCold) * interval);
      },
      afterNone: max,
      afterInfinity: 0,
    };
  };
}

export interface Pace {
  readonly rate: number;
  /** The permits stored keep their share of the most that can be; what is owed stays owed. */
  setRate(rate: number, now: number): void;
  /** Microseconds until the next one passes, whatever it asks for. */
  waitAt(now: number): number;
  /** Charges, and says how long to wait. */
  book(permits: number, now: number): number;
}

/** Where Guava's microseconds end. */
const END = 2 ** 63;

/** Without the fraction; no number is nothing. */
function micros(span: number): number {
  return Number.isNaN(span) ? 0 : Math.min(Math.trunc(span), END);
}

export function pace(storageAt: StorageAt, firstRate: number, created: number): Pace {
  let interval = 1e6 / firstRate;
  let storage = storageAt(firstRate, interval);
  let stored = storage.afterNone;
  let next = created;

  function idle(now: number): void {
    if (now <= next) return;
    if (storage.max > 0) stored = Math.min(storage.max, stored + (now - next) / storage.refill);
    next = now;
  }

  return {
    get rate() {
      return 1e6 / interval;
    },
    setRate(rate, now) {
      idle(now);
      const before = storage.max;
      interval = 1e6 / rate;
      storage = storageAt(rate, interval);
      if (before === Infinity) stored = storage.afterInfinity;
      else if (before === 0) stored = storage.afterNone;
      else stored = stored === 0 ? 0 : (stored * storage.max) / before;
    },
    waitAt: (now) => Math.max(0, next - now),
    book(permits, now) {
      idle(now);
      const wait = next - now;
      const fromStore = Math.min(permits, stored);
      const fresh = micros((permits - fromStore) * interval);
      next = Math.min(END, next + storage.price(stored, fromStore) + fresh);
      stored -= fromStore;
      return wait;
    },
  };
}
