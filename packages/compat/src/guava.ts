/**
 * A drop-in for Guava's RateLimiter. Callers wait for their turn. The more permits a call takes, the longer the next call has to
 * wait. In memory, the waits equal those of the original to the microsecond. `distributed` applies the same rules on any store.
 */
import { inMillis } from './shared/millis.ts';
import {
  createLimiter,
  type Decision,
  type Duration,
  type MaybePromise,
  memory,
  type Millis,
  pacer,
  parseDuration,
  SluiceError,
  type Store,
} from 'sluice';
import type { Clock } from 'sluice/store';
import { checkOptionNames, notNegative, whole } from './shared/options.ts';
import { GRAIN } from './shared/rounding.ts';

/** Options of a limiter in this process. */
export interface RateLimiterOptions {
  /**
   * How long the limiter takes to reach its full rate after a pause. Without a warm-up, idle time accumulates permits for a
   * burst.
   */
  readonly warmup?: Duration | undefined;
  /**
   * How many times longer the first permit takes after a long pause than at the full rate. Default 3. Allowed only with `warmup`.
   */
  readonly coldFactor?: number | undefined;
  /**
   * How many seconds' worth of permits, at the current rate, may accumulate in idle time. Default 1. Not allowed with `warmup`.
   */
  readonly maxBurstSeconds?: number | undefined;
  /** The clock. Default: a monotonic system clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** Waits for the given number of milliseconds. Default: the clock's `after` if it has one, otherwise a timer. */
  readonly sleep?: ((span: Millis) => MaybePromise<unknown>) | undefined;
}

/** A limiter with the methods of Guava's class. */
export interface RateLimiter {
  /** Waits for the caller's turn, and resolves with the number of seconds that it waited. */
  acquire(permits?: number): Promise<number>;
  /**
   * Waits for the caller's turn if it comes within the timeout, in milliseconds (default 0). Otherwise, resolves with false
   * without waiting, and charges nothing.
   */
  tryAcquire(permits?: number, timeout?: Millis): Promise<boolean>;
  /** Charges the permits and returns the milliseconds to wait before acting. */
  reserve(permits?: number): Millis;
  /**
   * Changes the rate, in permits per second. Waits that were already returned, and the wait of the next caller, do not change.
   */
  setRate(permitsPerSecond: number): void;
  /** Returns the rate in permits per second. */
  getRate(): number;
}

/** Options of a limiter that several processes share. */
export interface DistributedOptions extends Omit<RateLimiterOptions, 'clock'> {
  /** The shared store, such as `redis(client)`. Its clock provides the time. */
  readonly store: Store<MaybePromise<Decision>>;
  /** Processes that use the same key share one pace, so permits taken by one process delay the others. Default 'default'. */
  readonly key?: string | undefined;
  /** Separates the keys of this limiter from those of other limiters in the store. Default 'guava'. */
  readonly name?: string | undefined;
}

/**
 * A limiter that several processes share. Each process charges at its own rate: a call takes up `permits / rate` seconds in a
 * schedule that all processes share.
 */
export interface DistributedRateLimiter extends Omit<RateLimiter, 'reserve'> {
  /** Charges the permits and returns the milliseconds to wait before acting. */
  reserve(permits?: number): Promise<Millis>;
}

const SHARED = ['warmup', 'coldFactor', 'maxBurstSeconds', 'sleep'] as const;

function create(permitsPerSecond: number, options: RateLimiterOptions = {}): RateLimiter {
  checkOptionNames('RateLimiter', options, [...SHARED, 'clock']);
  const { clock = performance, sleep = sleepBy(memory({ clock })) } = options;
  const { warmup, coldFactor, maxBurstSeconds } = shapeOf(options);
  const storageAt =
    warmup === undefined ? bursty(maxBurstSeconds) : warmingUp(Math.round(warmup * 1000), coldFactor);
  const now = (): number => Math.round(clock.now() * 1000);
  const turns = pace(storageAt, checkRate(permitsPerSecond), now());
  const book = (permits: number): number => turns.book(whole('permits', permits), now());

  return {
    async acquire(permits = 1) {
      const wait = book(permits);
      if (wait > 0) await sleep(wait / 1000);
      return wait / 1e6;
    },
    async tryAcquire(permits = 1, timeout = 0) {
      whole('permits', permits);
      if (turns.waitAt(now()) > Math.round(checkTimeout(timeout) * 1000)) return false;
      const wait = book(permits);
      if (wait > 0) await sleep(wait / 1000);
      return true;
    },
    reserve: (permits = 1) => book(permits) / 1000,
    setRate: (rate) => turns.setRate(checkRate(rate), now()),
    getRate: () => turns.rate,
  };
}

/** The maximum cost of a call in seconds, so that sums stay finite at tiny rates. */
const LONGEST = 1e12;

/**
 * Uses one pacer whose unit is a second and whose rate is one unit per second, so that a permit costs `1 / rate` units. Idle time
 * accumulates seconds, so after a change of the rate, the accumulated permits are the same fraction of the maximum as before.
 */
function distributed(permitsPerSecond: number, options: DistributedOptions): DistributedRateLimiter {
  checkOptionNames('RateLimiter', options, [...SHARED, 'store', 'key', 'name']);
  const { store, key = 'default', name = 'guava', sleep = sleepBy(store) } = options;
  const { warmup, coldFactor, maxBurstSeconds } = shapeOf(options);
  const resolution = 'microseconds';
  const second = { limit: 1, per: 1000, resolution } as const;
  const limiter = createLimiter(
    warmup === undefined || warmup === 0
      ? pacer({ ...second, maxBurst: warmup === 0 ? 0 : maxBurstSeconds, fresh: 'empty' })
      : pacer({ ...second, warmup: inMillis(warmup), coldFactor }),
    { store, name },
  );
  let rate = checkRate(permitsPerSecond);

  /** Resolves with the wait. If the turn does not come within the timeout, resolves with Infinity and charges nothing. */
  async function book(permits: number, timeout: Millis): Promise<Millis> {
    const cost = Math.min(whole('permits', permits) / rate, LONGEST);
    if (cost > 0) return (await limiter.reserve(key, { cost, maxDelay: timeout + GRAIN })).delay;
    // At an infinite rate, a permit costs nothing, but the caller still waits until earlier debt is paid off.
    const { retryAfter } = await limiter.peek(key, 0);
    return retryAfter <= timeout + GRAIN ? retryAfter : Infinity;
  }

  return {
    async acquire(permits = 1) {
      const wait = await book(permits, Infinity);
      if (wait > 0) await sleep(wait);
      return wait / 1000;
    },
    async tryAcquire(permits = 1, timeout = 0) {
      const wait = await book(permits, checkTimeout(timeout));
      if (wait === Infinity) return false;
      if (wait > 0) await sleep(wait);
      return true;
    },
    reserve: async (permits = 1) => book(permits, Infinity),
    setRate(permitsPerSecond) {
      rate = checkRate(permitsPerSecond);
    },
    getRate: () => rate,
  };
}

/** Creates limiters, as Guava's class does; for example, `RateLimiter.create(5)`. */
export const RateLimiter: {
  /** Creates a limiter in this process. */
  readonly create: (permitsPerSecond: number, options?: RateLimiterOptions) => RateLimiter;
  /** Creates a limiter for all processes that share the store and the key. */
  readonly distributed: (permitsPerSecond: number, options: DistributedOptions) => DistributedRateLimiter;
} = {
  create,
  distributed,
};

/** Validates the options and fills in defaults; `warmup` is in milliseconds. */
function shapeOf(options: RateLimiterOptions | DistributedOptions): {
  readonly warmup: Millis | undefined;
  readonly coldFactor: number;
  readonly maxBurstSeconds: number;
} {
  const { warmup, coldFactor, maxBurstSeconds } = options;
  if (warmup !== undefined && maxBurstSeconds !== undefined)
    throw new SluiceError(
      'ERR_UNKNOWN_OPTION',
      'maxBurstSeconds',
      maxBurstSeconds,
      'not allowed with a warm-up',
    );
  if (warmup === undefined && coldFactor !== undefined)
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'coldFactor', coldFactor, 'allowed only with a warm-up');
  return {
    warmup: warmup === undefined || warmup === 0 ? warmup : parseDuration(warmup, 'warmup'),
    coldFactor: notNegative('coldFactor', coldFactor ?? 3),
    maxBurstSeconds: notNegative('maxBurstSeconds', maxBurstSeconds ?? 1),
  };
}

function checkRate(rate: unknown): number {
  if (typeof rate !== 'number' || !(rate > 0))
    throw new SluiceError('ERR_NUMBER', 'permitsPerSecond', rate, 'or Infinity');
  return rate;
}

/** Validates a timeout. A negative timeout is treated as 0. */
function checkTimeout(timeout: unknown): Millis {
  if (typeof timeout !== 'number' || Number.isNaN(timeout))
    throw new SluiceError('ERR_NUMBER', 'timeout', timeout, 'or 0, or Infinity');
  return Math.max(0, timeout);
}

function sleepBy({ clock }: Store<MaybePromise<Decision>>): (span: Millis) => Promise<void> {
  return (span) =>
    new Promise((wake) => {
      clock.after(span, wake);
    });
}

/*
 * The arithmetic below equals Guava's to the last bit. Times are whole microseconds, and permits are float64. The wait that a call
 * causes has two parts, for stored and for fresh permits. Each part is truncated to whole microseconds.
 *
 * The library's pacer is not used here, because it counts spent permits while Guava counts stored ones. The results differ in the
 * last bit of a float64. After truncation, the difference is sometimes a whole microsecond, which can decide whether a call with a
 * timeout passes.
 */

/** How many permits are stored during idle time at a given rate, and what they cost. Durations are in microseconds. */
interface Storage {
  /** The maximum number of permits that can be stored. */
  readonly max: number;
  /** Microseconds of idle time after which one more permit is stored. */
  readonly refill: number;
  /** Microseconds that the next caller must wait because this call takes `amount` of the `stored` permits. */
  price(stored: number, amount: number): number;
  /** Number of stored permits after a change from a rate at which no permit could be stored. */
  readonly afterNone: number;
  /** Number of stored permits after a change from an infinite rate. */
  readonly afterInfinity: number;
}

type StorageAt = (rate: number, interval: number) => Storage;

/** Storage that holds at most the permits of `burstSeconds` seconds of idle time. They are spent without delay. */
function bursty(burstSeconds: number): StorageAt {
  return (rate, interval) => {
    // Avoids 0 * Infinity, which is NaN.
    const max = burstSeconds === 0 ? 0 : burstSeconds * rate;
    return { max, refill: interval, price: () => 0, afterNone: 0, afterInfinity: max };
  };
}

/**
 * Storage in which stored permits cost up to `coldFactor` times as much as new ones, because the service is cold after a pause.
 */
function warmingUp(warmup: number, coldFactor: number): StorageAt {
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

interface Pace {
  readonly rate: number;
  /** Changes the rate. Stored permits remain the same fraction of the maximum, and debt is unchanged. */
  setRate(rate: number, now: number): void;
  /** Microseconds until the next caller passes, however many permits it requests. */
  waitAt(now: number): number;
  /** Charges the permits and returns the microseconds to wait. */
  book(permits: number, now: number): number;
}

/** The upper bound of Guava's 64-bit microsecond timestamps. */
const END = 2 ** 63;

/** Truncates a number to whole microseconds. NaN becomes 0. */
function micros(span: number): number {
  return Number.isNaN(span) ? 0 : Math.min(Math.trunc(span), END);
}

function pace(storageAt: StorageAt, firstRate: number, created: number): Pace {
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
