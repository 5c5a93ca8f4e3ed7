/**
 * Guava's RateLimiter: callers wait for their turn, and each one's permits delay the next. In memory it answers to the
 * microsecond as the original does; `distributed` keeps the same rules on any store.
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

/** Of a limiter in this process. */
export interface RateLimiterOptions {
  /** How long the pace takes from cold to full after a pause; without it, idle time stores a burst. */
  readonly warmup?: Duration | undefined;
  /** How many times slower the first permit is after a long pause; default 3. Only with a warm-up. */
  readonly coldFactor?: number | undefined;
  /** Seconds of permits that idle time stores; default 1. Not with a warm-up. */
  readonly maxBurstSeconds?: number | undefined;
  /** Where the time comes from; default: a monotonic clock. */
  readonly clock?: Pick<Clock, 'now'> | undefined;
  /** How to wait; default: by the clock's `after` if it has one, else by a timer. */
  readonly sleep?: ((span: Millis) => MaybePromise<unknown>) | undefined;
}

/** As Guava's methods are. */
export interface RateLimiter {
  /** Waits for the turn and says how long, in seconds. */
  acquire(permits?: number): Promise<number>;
  /** Waits for the turn if it comes within the timeout (default 0); otherwise says false at once and charges nothing. */
  tryAcquire(permits?: number, timeout?: Millis): Promise<boolean>;
  /** Charges, and says how long to wait before acting. */
  reserve(permits?: number): Millis;
  /** Permits per second. Turns that are booked stay as they are, also what the next one waits for. */
  setRate(permitsPerSecond: number): void;
  /** Permits per second. */
  getRate(): number;
}

/** Of a limiter that processes share. */
export interface DistributedOptions extends Omit<RateLimiterOptions, 'clock'> {
  /** Such as `redis(client)`; the time is the store's. */
  readonly store: Store<MaybePromise<Decision>>;
  /** Processes with the same key share the pace; default 'default'. */
  readonly key?: string | undefined;
  /** Keeps its keys apart from other limiters' in the store; default 'guava'. */
  readonly name?: string | undefined;
}

/** The rate is this process's own: what it takes from the shared pace is `permits / rate` seconds. */
export interface DistributedRateLimiter extends Omit<RateLimiter, 'reserve'> {
  /** Charges, and says how long to wait before acting. */
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

/** Seconds that a permit costs at most: the rate is next to nothing, but sums stay finite. */
const LONGEST = 1e12;

/**
 * One pacer of a second per second, whatever the rate: a permit costs `1 / rate` seconds. So idle time stores seconds,
 * and a changed rate finds as many of them as before: its permits in the same share of the most that can be.
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

  /** Infinity: not within the timeout, and nothing is charged. */
  async function book(permits: number, timeout: Millis): Promise<Millis> {
    const cost = Math.min(whole('permits', permits) / rate, LONGEST);
    if (cost > 0) return (await limiter.reserve(key, { cost, maxDelay: timeout + GRAIN })).delay;
    // At an infinite rate a permit costs nothing, but what is owed is waited for.
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

/** As Guava's class is used: `RateLimiter.create(5)`. */
export const RateLimiter: {
  /** In this process. */
  readonly create: (permitsPerSecond: number, options?: RateLimiterOptions) => RateLimiter;
  /** For all processes that share the store and the key. */
  readonly distributed: (permitsPerSecond: number, options: DistributedOptions) => DistributedRateLimiter;
} = {
  create,
  distributed,
};

/** With `warmup` in milliseconds. */
function shapeOf(options: RateLimiterOptions | DistributedOptions): {
  readonly warmup: Millis | undefined;
  readonly coldFactor: number;
  readonly maxBurstSeconds: number;
} {
  const { warmup, coldFactor, maxBurstSeconds } = options;
  if (warmup !== undefined && maxBurstSeconds !== undefined)
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'maxBurstSeconds', maxBurstSeconds, 'not with a warm-up');
  if (warmup === undefined && coldFactor !== undefined)
    throw new SluiceError('ERR_UNKNOWN_OPTION', 'coldFactor', coldFactor, 'only with a warm-up');
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

/** A negative one is none. */
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
 * The arithmetic, to the last bit: whole microseconds, and permits as float64. Fractions of a microsecond are dropped,
 * each part of a price for itself.
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

type StorageAt = (rate: number, interval: number) => Storage;

/** Idle time stores up to `burstSeconds` of permits, to be spent without delay. */
function bursty(burstSeconds: number): StorageAt {
  return (rate, interval) => {
    // An infinite rate times none is none.
    const max = burstSeconds === 0 ? 0 : burstSeconds * rate;
    return { max, refill: interval, price: () => 0, afterNone: 0, afterInfinity: max };
  };
}

/** Stored permits are cold: they cost up to `coldFactor` times as much as fresh ones. */
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
