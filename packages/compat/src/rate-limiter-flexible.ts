/**
 * rate-limiter-flexible's classes on Sluice's stores, with the same options, promises and rejections. A denial rejects with
 * a `RateLimiterRes`; only a fault or an invalid argument rejects with an `Error`.
 */
import {
  createLimiter,
  type Decision,
  type Limiter,
  type MaybePromise,
  memory,
  type Millis,
  SluiceError,
  type Store,
  StoreUnavailable,
} from 'sluice';
import type { Clock, MemoryStore } from 'sluice/store';
import { checkOptionNames, notNegative, whole } from './shared/options.ts';
import {
  type ConsumeOptions,
  type Key,
  type RateLimiterLike,
  type RateLimiterOptions,
  type RateLimiterQueueOptions,
  type RateLimiterRedisOptions,
  RateLimiterRes,
  type RateLimiterStoreOptions,
  type RateLimiterValkeyOptions,
} from './shared/flexible.ts';
import { wholeUnits } from './shared/rounding.ts';
import { storeOf, type StoreOptions } from './shared/store-of.ts';
import { EVER, type Points, pointsIn, type Tally } from './shared/tally.ts';

export type {
  ConsumeOptions,
  IRateLimiterRes,
  Key,
  RateLimiterLike,
  RateLimiterOptions,
  RateLimiterOptions as IRateLimiterOptions,
  RateLimiterQueueOptions,
  RateLimiterQueueOptions as IRateLimiterQueueOpts,
  RateLimiterRedisOptions,
  RateLimiterRedisOptions as IRateLimiterRedisOptions,
  RateLimiterStoreOptions,
  RateLimiterStoreOptions as IRateLimiterStoreOptions,
  RateLimiterValkeyOptions,
  RateLimiterValkeyOptions as IRateLimiterValkeyOptions,
} from './shared/flexible.ts';
export { RateLimiterRes } from './shared/flexible.ts';
export type { StoreOptions } from './shared/store-of.ts';
export type { PointLimiter as RateLimiterAbstract, StoreLimiter as RateLimiterStoreAbstract };

const OPTIONS = [
  'points',
  'duration',
  'keyPrefix',
  'blockDuration',
  'execEvenly',
  'execEvenlyMinDelayMs',
  'insuranceLimiter',
  'store',
  'clock',
] as const;
const STORE_OPTIONS = [
  ...OPTIONS,
  'storeClient',
  'inMemoryBlockOnConsumed',
  'inMemoryBlockDuration',
] as const;
const REDIS_OPTIONS = [
  ...STORE_OPTIONS,
  'rejectIfRedisNotReady',
  'useRedisPackage',
  'useRedis3AndLowerPackage',
] as const;
const VALKEY_OPTIONS = [...STORE_OPTIONS, 'rejectIfValkeyNotReady'] as const;

/**
 * The base class of all limiters. Its points and durations may be changed at run time, but windows that are already open keep
 * their end.
 */
class PointLimiter implements RateLimiterLike {
  /** Same as the option `points`. */
  points: number;
  /** Same as the option `duration`, in seconds. */
  duration: number;
  /** Same as the option `blockDuration`, in seconds. */
  blockDuration: number;
  /** Same as the option `execEvenly`. */
  execEvenly: boolean;
  /** Same as the option `execEvenlyMinDelayMs`. */
  execEvenlyMinDelayMs: Millis | undefined;
  /** Same as the option `keyPrefix`. */
  readonly keyPrefix: string;
  /** Same as the option `insuranceLimiter`. */
  readonly insuranceLimiter: RateLimiterLike | undefined;
  private readonly store: Store<MaybePromise<Decision>>;
  private readonly tally: Points;
  private readonly blocks: LocalBlocks | undefined;

  constructor(options: RateLimiterOptions, store: Store<MaybePromise<Decision>>, blocks?: LocalBlocks) {
    const { keyPrefix = 'rlflx', blockDuration = 0, execEvenly = false, insuranceLimiter } = options;
    this.points = notNegative('points', options.points);
    this.duration = notNegative('duration', options.duration);
    this.blockDuration = notNegative('blockDuration', blockDuration);
    this.execEvenly = execEvenly;
    this.execEvenlyMinDelayMs =
      options.execEvenlyMinDelayMs && notNegative('execEvenlyMinDelayMs', options.execEvenlyMinDelayMs);
    if (typeof keyPrefix !== 'string') throw new SluiceError('ERR_KEY', 'keyPrefix', keyPrefix);
    this.keyPrefix = keyPrefix;
    this.insuranceLimiter = insuranceLimiter;
    // As documented by rate-limiter-flexible, the insurance limiter gets the values of these two options from this limiter.
    if (insuranceLimiter !== undefined)
      Object.assign(checked('insuranceLimiter', insuranceLimiter), { blockDuration, execEvenly });
    this.store = store;
    this.tally = pointsIn(store, keyPrefix);
    this.blocks = blocks;
  }

  /** `duration` in milliseconds. */
  get msDuration(): Millis {
    return this.duration * 1000;
  }

  /** `blockDuration` in milliseconds. */
  get msBlockDuration(): Millis {
    return this.blockDuration * 1000;
  }

  /** Adds the prefix to a key. */
  getKey(key: Key): string {
    return this.keyPrefix === '' ? nameOf(key) : `${this.keyPrefix}:${nameOf(key)}`;
  }

  /** Removes the prefix that `getKey` adds. */
  parseKey(rlKey: string): string {
    return this.keyPrefix === '' ? rlKey : rlKey.slice(this.keyPrefix.length + 1);
  }

  /** Consumes points. Rejects with a `RateLimiterRes` if they exceed the limit. The points are counted in either case. */
  consume(key: Key, points = 1, options: ConsumeOptions = {}): Promise<RateLimiterRes> {
    return this.insured(
      () => this.consumeHere(nameOf(key), pointsOf(points), options),
      (standIn) => standIn.consume(key, points, options),
    );
  }

  /** Adds points. Does not reject if they exceed the limit. */
  penalty(key: Key, points = 1, options: ConsumeOptions = {}): Promise<RateLimiterRes> {
    return this.insured(
      async () => {
        const cost = pointsOf(points);
        return this.describe(await this.tally.add(nameOf(key), cost, this.lengthOf(options)), cost);
      },
      (standIn) => standIn.penalty(key, points, options),
    );
  }

  /** Subtracts points, down to 0. */
  reward(key: Key, points = 1): Promise<RateLimiterRes> {
    return this.insured(
      async () => this.describe(await this.tally.subtract(nameOf(key), pointsOf(points))),
      (standIn) => standIn.reward(key, points),
    );
  }

  /** Blocks the key for `secDuration` seconds, by setting its consumed points above the limit. 0 means forever. */
  block(key: Key, secDuration: number): Promise<RateLimiterRes> {
    return this.insured(
      () => this.put(nameOf(key), Math.floor(this.points) + 1, secDuration),
      (standIn) => standIn.block(key, secDuration),
    );
  }

  /** Sets the consumed points, which expire after `secDuration` seconds (default `duration`). 0 means that they never expire. */
  set(key: Key, points: number, secDuration: number = this.duration): Promise<RateLimiterRes> {
    return this.insured(
      () => this.put(nameOf(key), pointsOf(points), secDuration),
      (standIn) => standIn.set(key, points, secDuration),
    );
  }

  /** Resolves with the state of the key, or with null if no points are consumed. */
  get(key: Key): Promise<RateLimiterRes | null> {
    return this.insured(
      async () => {
        const tally = await this.tally.read(nameOf(key));
        return tally.consumed === 0 ? null : this.describe(tally);
      },
      (standIn) => standIn.get(key),
    );
  }

  /** Deletes the state of the key. Resolves with true if the key had consumed points. */
  delete(key: Key): Promise<boolean> {
    return this.insured(
      async () => {
        this.blocks?.limiter.reset(nameOf(key));
        return (await this.tally.remove(nameOf(key))).consumed > 0;
      },
      (standIn) => standIn.delete(key),
    );
  }

  /** Unblocks the keys that this process rejects without asking the server. */
  deleteInMemoryBlockedAll(): void {
    void this.blocks?.store.close();
  }

  private async consumeHere(key: string, cost: number, options: ConsumeOptions): Promise<RateLimiterRes> {
    const length = this.lengthOf(options);
    const blocked = this.blocks?.limiter.peek(key, 0).retryAfter ?? 0;
    if (blocked > 0) return refuse(new RateLimiterRes(0, msOf(blocked)));
    let tally = await this.tally.add(key, cost, length);
    // Only the call that crosses the limit blocks the key, so that later calls do not prolong the block.
    if (this.blockDuration > 0 && tally.consumed > this.points && tally.consumed - cost <= this.points)
      tally = await this.tally.put(key, tally.consumed, this.msBlockDuration);
    const here = this.blockHere(key, tally);
    if (tally.consumed > this.points)
      return refuse(this.describe({ ...tally, left: Math.max(tally.left, here) }, cost));
    const res = this.describe(tally, cost);
    return this.execEvenly && !res.isFirstInDuration && res.msBeforeNext > 0 ? this.spread(res) : res;
  }

  /** Blocks the key in this process if it has consumed enough points. Returns the duration of the block, or 0. */
  private blockHere(key: string, { consumed, left }: Tally): Millis {
    if (this.blocks === undefined || consumed < this.blocks.from) return 0;
    const span = this.blocks.length > 0 ? this.blocks.length : left;
    if (span > 0) this.blocks.limiter.block(key, span);
    return span;
  }

  /**
   * Delays the result by an equal share of the remaining duration, so that the remaining points are spread over that duration. The
   * delay is never shorter than the minimum delay.
   */
  private async spread(res: RateLimiterRes): Promise<RateLimiterRes> {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = res;
    const least = this.execEvenlyMinDelayMs ?? Math.ceil(this.msDuration / this.points);
    const delay = Math.max(Math.ceil(msBeforeNext / (remainingPoints + 2)), least);
    await new Promise<void>((resolve) => this.store.clock.after(delay, resolve));
    const left = Math.max(0, msBeforeNext - delay);
    return new RateLimiterRes(remainingPoints, left, consumedPoints, isFirstInDuration);
  }

  private async put(key: string, points: number, secDuration: number): Promise<RateLimiterRes> {
    const length = lengthOf(notNegative('secDuration', numberIn(secDuration)));
    return this.describe(await this.tally.put(key, points, length));
  }

  private lengthOf({ customDuration = this.duration }: ConsumeOptions): Millis {
    return lengthOf(notNegative('customDuration', numberIn(customDuration)));
  }

  private describe({ consumed, left }: Tally, added = 0): RateLimiterRes {
    const isFirst = added > 0 && consumed === added;
    return new RateLimiterRes(Math.max(this.points - consumed, 0), msOf(left), consumed, isFirst);
  }

  private async insured<T>(
    own: () => Promise<T>,
    insteadBy: (standIn: RateLimiterLike) => Promise<T>,
  ): Promise<T> {
    try {
      return await own();
    } catch (reason) {
      const isFault = !(reason instanceof RateLimiterRes || reason instanceof SluiceError);
      if (isFault && this.insuranceLimiter !== undefined) return insteadBy(this.insuranceLimiter);
      throw reason;
    }
  }
}

/** A limiter in this process, or on a given `store`. */
export class RateLimiterMemory extends PointLimiter {
  constructor(options: RateLimiterOptions) {
    checkOptionNames('RateLimiterMemory', options, OPTIONS);
    super(options, storeOf(options));
  }
}

/** The base class of limiters on a server. */
class StoreLimiter extends PointLimiter {
  /** Same as the option `inMemoryBlockOnConsumed`; 0 means never. */
  readonly inMemoryBlockOnConsumed: number;
  /** Same as the option `inMemoryBlockDuration`, in seconds. */
  readonly inMemoryBlockDuration: number;

  constructor(options: RateLimiterStoreOptions, rejectIfNotReady: boolean) {
    const { storeClient, store, inMemoryBlockOnConsumed = 0, inMemoryBlockDuration = 0, clock } = options;
    if ((storeClient === undefined) === (store === undefined))
      throw new SluiceError(
        'ERR_OPTIONS',
        'storeClient',
        storeClient,
        '',
        'or store is required, but not both',
      );
    if (
      inMemoryBlockOnConsumed !== 0 &&
      whole('inMemoryBlockOnConsumed', inMemoryBlockOnConsumed) < options.points
    )
      throw new SluiceError(
        'ERR_NUMBER',
        'inMemoryBlockOnConsumed',
        inMemoryBlockOnConsumed,
        '',
        'must be 0, or at least as large as points',
      );
    if (notNegative('inMemoryBlockDuration', inMemoryBlockDuration) > 0 && inMemoryBlockOnConsumed === 0)
      throw new SluiceError('ERR_MISSING_OPTION', 'inMemoryBlockOnConsumed', undefined);
    const found = storeOf(options, storeClient);
    super(
      options,
      rejectIfNotReady && storeClient !== undefined ? onlyWhenReady(found, storeClient) : found,
      inMemoryBlockOnConsumed === 0
        ? undefined
        : localBlocks(inMemoryBlockOnConsumed, inMemoryBlockDuration * 1000, clock),
    );
    this.inMemoryBlockOnConsumed = inMemoryBlockOnConsumed;
    this.inMemoryBlockDuration = inMemoryBlockDuration;
  }
}

/** A limiter on the server of `storeClient`, or on a given `store`. */
export class RateLimiterRedis extends StoreLimiter {
  constructor(options: RateLimiterRedisOptions) {
    checkOptionNames('RateLimiterRedis', options, REDIS_OPTIONS);
    super(options, options.rejectIfRedisNotReady === true);
  }
}

/** Same as `RateLimiterRedis`. Both classes accept the clients of Redis and of Valkey. */
export class RateLimiterValkey extends StoreLimiter {
  constructor(options: RateLimiterValkeyOptions) {
    checkOptionNames('RateLimiterValkey', options, VALKEY_OPTIONS);
    super(options, options.rejectIfValkeyNotReady === true);
  }
}

/** Consumes points from several limiters, or from none if one denies. Results are keyed by `keyPrefix`. */
export class RateLimiterUnion {
  private readonly limiters: readonly RateLimiterLike[];

  constructor(...limiters: RateLimiterLike[]) {
    if (limiters.length === 0)
      throw new SluiceError('ERR_OPTIONS', 'limiters', limiters, '', 'must contain at least one limiter');
    for (const limiter of limiters) checked('limiters', limiter);
    this.limiters = limiters;
  }

  /** Consumes points. Rejects with the results of the limiters that deny. If a limiter fails, its result is an `Error`. */
  async consume(key: Key, points = 1): Promise<Record<string, RateLimiterRes>> {
    const answers = await Promise.allSettled(this.limiters.map((limiter) => limiter.consume(key, points)));
    const passed: Record<string, RateLimiterRes> = {};
    const refused: Record<string, unknown> = {};
    for (const [i, answer] of answers.entries()) {
      const { keyPrefix } = this.limiters[i];
      if (answer.status === 'fulfilled') passed[keyPrefix] = answer.value;
      else refused[keyPrefix] = answer.reason;
    }
    if (Object.keys(refused).length === 0) return passed;
    const charged = this.limiters.filter((_, i) => answers[i].status === 'fulfilled');
    await Promise.allSettled(charged.map((limiter) => limiter.reward(key, points)));
    return refuse(refused);
  }
}

/**
 * Combines a limiter with a second one for bursts. If the first limiter denies a call, the second one may still allow it. The
 * reported points are those of the first limiter.
 */
export class BurstyRateLimiter {
  private readonly limiter: RateLimiterLike;
  private readonly burst: RateLimiterLike;

  constructor(rateLimiter: RateLimiterLike, burstLimiter: RateLimiterLike) {
    this.limiter = checked('rateLimiter', rateLimiter);
    this.burst = checked('burstLimiter', burstLimiter);
  }

  /** The points of the first limiter. */
  get points(): number | undefined {
    return this.limiter.points;
  }

  /** Consumes points from the first limiter, or from the second one if the first denies the call. */
  async consume(key: Key, points = 1): Promise<RateLimiterRes> {
    const own = await outcome(this.limiter.consume(key, points));
    if (own.passed) return own.res;
    const burst = await outcome(this.burst.consume(key, points));
    const res = combine(own.res, burst.res);
    return burst.passed ? res : refuse(res);
  }

  /** Resolves with the state of the key, or with null if no points of the first limiter are consumed. */
  async get(key: Key): Promise<RateLimiterRes | null> {
    const [own, burst] = await Promise.all([this.limiter.get(key), this.burst.get(key)]);
    return own === null ? null : combine(own, burst);
  }
}

/** Combines two results. Reports the shorter of the two waits, or 0 if the burst is unused. −1 means never. */
function combine(own: RateLimiterRes, burst: RateLimiterRes | null): RateLimiterRes {
  const waits = [own.msBeforeNext, burst?.msBeforeNext ?? 0].filter((ms) => ms >= 0);
  const msBeforeNext = waits.length === 0 ? -1 : Math.min(...waits);
  return new RateLimiterRes(own.remainingPoints, msBeforeNext, own.consumedPoints, own.isFirstInDuration);
}

/** A limiter that a queue accepts, including a `BurstyRateLimiter`. */
export type QueueLimiter = Pick<RateLimiterLike, 'points' | 'consume' | 'get'>;

/** Thrown if a call cannot wait, because the queue is full, the call has expired, or it requests more tokens than the limit. */
export class RateLimiterQueueError extends Error {
  /** Additional information, if there is any. */
  readonly extra: string | undefined;

  constructor(message: string, extra?: string) {
    super(message);
    this.name = 'RateLimiterQueueError';
    this.extra = extra;
  }
}

interface Waiter {
  readonly tokens: number;
  readonly resolve: (remaining: number) => void;
  readonly reject: (reason: unknown) => void;
}

const DEFAULT_KEY = 'limiter';

/** A queue of calls that wait until a limiter allows them. */
export class RateLimiterQueue {
  private readonly limiter: QueueLimiter;
  private readonly maxQueueSize: number;
  private readonly now: () => Millis;
  private readonly alarms: Pick<Clock, 'after'>;
  private readonly queues = new Map<Key, Waiter[]>();

  constructor(limiter: QueueLimiter, options: RateLimiterQueueOptions = {}) {
    checkOptionNames('RateLimiterQueue', options, ['maxQueueSize', 'clock']);
    const { maxQueueSize = 2 ** 32 - 1, clock } = options;
    this.limiter = checked('limiter', limiter);
    this.maxQueueSize = whole('maxQueueSize', maxQueueSize);
    this.now = () => clock?.now() ?? Date.now();
    this.alarms = memory({ clock }).clock;
  }

  /** Resolves with the number of tokens that can be removed without waiting. */
  async getTokensRemaining(key: Key = DEFAULT_KEY): Promise<number> {
    const res = await this.limiter.get(key);
    return res === null ? (this.limiter.points ?? 0) : res.remainingPoints;
  }

  /**
   * Waits until the tokens can be consumed, and resolves with the number of remaining tokens. `expiresUnixAt` is in seconds; 0
   * means that the call never expires.
   */
  async removeTokens(tokens: number, key: Key = DEFAULT_KEY, expiresUnixAt = 0): Promise<number> {
    const most = this.limiter.points ?? Infinity;
    if (tokens > most)
      throw new RateLimiterQueueError(
        `Requested tokens ${tokens} exceeds maximum ${most} tokens per interval`,
      );
    const deadline = notNegative('expiresUnixAt', expiresUnixAt) * 1000;
    if (deadline > 0 && deadline <= this.now()) throw expired();
    if (this.queues.has(key)) return this.wait(key, tokens, deadline, 0);
    const { passed, res } = await outcome(this.limiter.consume(key, tokens));
    return passed ? res.remainingPoints : this.wait(key, tokens, deadline, res.msBeforeNext);
  }

  private wait(key: Key, tokens: number, deadline: Millis, msBeforeNext: Millis): Promise<number> {
    const queue = this.queues.get(key) ?? [];
    if (queue.length >= this.maxQueueSize)
      throw new RateLimiterQueueError(`Number of requests reached its maximum ${this.maxQueueSize}`);
    const waiter = { tokens } as Waiter;
    const turn = new Promise<number>((resolve, reject) => Object.assign(waiter, { resolve, reject }));
    if (deadline > 0) {
      const cancel = this.alarms.after(deadline - this.now(), () => {
        leave(queue, waiter);
        waiter.reject(expired());
      });
      turn.then(cancel, cancel);
    }
    queue.push(waiter);
    if (!this.queues.has(key)) {
      this.queues.set(key, queue);
      this.serveAfter(key, queue, msBeforeNext);
    }
    return turn;
  }

  private serveAfter(key: Key, queue: Waiter[], delay: Millis): void {
    // A key that is blocked forever is checked again, because its block may be deleted.
    this.alarms.after(delay < 0 ? ASK_AGAIN : Math.max(1, delay), () => void this.serve(key, queue));
  }

  /** Serves the first calls of the queue until one must wait. */
  private async serve(key: Key, queue: Waiter[]): Promise<void> {
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      try {
        const { passed, res } = await outcome(this.limiter.consume(key, head.tokens));
        if (!passed) return this.serveAfter(key, queue, res.msBeforeNext);
        head.resolve(res.remainingPoints);
      } catch (error) {
        head.reject(error);
      }
      leave(queue, head);
    }
    this.queues.delete(key);
  }
}

/** How often a key that is blocked forever is checked again. */
const ASK_AGAIN: Millis = 1000;

/** Removes a waiter, which may have expired already. */
function leave(queue: Waiter[], waiter: Waiter): void {
  const place = queue.indexOf(waiter);
  if (place >= 0) queue.splice(place, 1);
}

const expired = (): RateLimiterQueueError =>
  new RateLimiterQueueError('The request to remove tokens expired before it could be fulfilled');

function nameOf(key: unknown): string {
  if (typeof key === 'number') return String(key);
  if (typeof key !== 'string')
    throw new SluiceError('ERR_KEY', 'key', key, '', 'must be a string or a number');
  return key;
}

function pointsOf(given: unknown): number {
  const points = numberIn(given);
  if (!Number.isSafeInteger(points) || (points as number) < 0)
    throw new SluiceError('ERR_COST', 'points', given, '', 'must be a whole number, 0 or more');
  return points as number;
}

/** Converts text that contains only digits, such as a value from a query string, to a number. */
function numberIn(value: unknown): unknown {
  return typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
}

/** Converts seconds to milliseconds; 0 means forever. */
function lengthOf(seconds: number): Millis {
  return seconds === 0 ? EVER : Math.min(seconds * 1000, EVER);
}

/** Keys that this process rejects without asking the server. They are manual blocks of a limiter in memory. */
interface LocalBlocks {
  readonly store: MemoryStore;
  readonly limiter: Limiter;
  /** A key is blocked once it has consumed this many points. */
  readonly from: number;
  /** How long a key is blocked. 0 means as long as the server would deny the key. */
  readonly length: Millis;
}

const MAX_LOCAL_BLOCKS = 100_000;

function localBlocks(from: number, length: Millis, clock: StoreOptions['clock']): LocalBlocks {
  const store = memory({ clock, maxKeys: MAX_LOCAL_BLOCKS });
  return { store, limiter: createLimiter('1/s', { store }), from, length };
}

/**
 * For each client, the property that shows whether the client is connected, and the value of that property while the client is
 * connected. valkey-glide has no such property.
 */
const READINESS: readonly (readonly [string, unknown])[] = [
  ['status', 'ready'], // ioredis, iovalkey
  ['isReady', true], // node-redis 4 and later
  ['ready', true], // node-redis 3
  ['connected', true], // Bun
];

/** Wraps a store so that it fails immediately while the client is not connected. */
function onlyWhenReady(store: Store<MaybePromise<Decision>>, client: object): Store<MaybePromise<Decision>> {
  const [name, value] = READINESS.find(([property]) => property in client) ?? [];
  const isReady = (): boolean => name === undefined || (client as Record<string, unknown>)[name] === value;
  return {
    ...store,
    apply: (hit) => (isReady() ? store.apply(hit) : Promise.reject(new StoreUnavailable('connection'))),
  };
}

function checked<L extends Pick<RateLimiterLike, 'consume'>>(option: string, limiter: L): L {
  if (typeof limiter?.consume !== 'function')
    throw new SluiceError(
      'ERR_OPTIONS',
      option,
      limiter,
      '',
      'must be a limiter, such as a RateLimiterMemory',
    );
  return limiter;
}

/** Turns a denial, which rejects with a `RateLimiterRes`, into a value. Rejects with any other error. */
async function outcome(
  consumed: Promise<RateLimiterRes>,
): Promise<{ readonly passed: boolean; readonly res: RateLimiterRes }> {
  try {
    return { passed: true, res: await consumed };
  } catch (reason) {
    if (reason instanceof Error) throw reason;
    return { passed: false, res: reason as RateLimiterRes };
  }
}

/** Converts a remaining time to `msBeforeNext`: whole milliseconds, or −1 for never. */
function msOf(left: Millis): Millis {
  return left > EVER / 2 ? -1 : wholeUnits(left);
}

/** Rejects with a value that is not an `Error`, because callers of the original expect such a value for a denial. */
function refuse(answer: unknown): Promise<never> {
  return Promise.reject(answer);
}
