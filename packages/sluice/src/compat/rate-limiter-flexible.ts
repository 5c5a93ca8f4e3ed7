/**
 * rate-limiter-flexible's classes over Sluice's stores: the same options, promises and rejections. A refusal rejects
 * with a RateLimiterRes; only a fault or a mistake rejects with an Error.
 */
import { type Decision, type MaybePromise, type Millis, SluiceError, type Store } from '../index.ts';
import { known, notNegative, whole } from '../options.ts';
import {
  checked,
  type ConsumeOptions,
  type Key,
  type RateLimiterLike,
} from './rate-limiter-flexible/combined.ts';
import {
  EVER,
  type LocalBlocks,
  localBlocks,
  msOf,
  onlyWhenReady,
  type Points,
  pointsIn,
  RateLimiterRes,
  refuse,
  type Tally,
} from './rate-limiter-flexible/points.ts';
import { type StoreOptions, storeOf } from './shared/store-of.ts';

export {
  BurstyRateLimiter,
  RateLimiterQueue,
  RateLimiterQueueError,
  RateLimiterUnion,
} from './rate-limiter-flexible/combined.ts';
export { RateLimiterRes };
export type { ConsumeOptions, Key, RateLimiterLike };

export interface RateLimiterOptions extends StoreOptions {
  /** So many points may be consumed … */
  readonly points: number;
  /** … in so many seconds from the first; 0: ever. */
  readonly duration: number;
  /** Keeps the keys of limiters in one store apart; default 'rlflx'. */
  readonly keyPrefix?: string | undefined;
  /** Seconds for which a key is blocked when it consumes too much; default 0: until its duration ends. */
  readonly blockDuration?: number | undefined;
  /** Delays what passes, so that it is spread over the duration. */
  readonly execEvenly?: boolean | undefined;
  /** The least such delay; default: duration / points. */
  readonly execEvenlyMinDelayMs?: Millis | undefined;
  /** Asked in the place of a store that fails. */
  readonly insuranceLimiter?: RateLimiterLike | undefined;
}

export interface RateLimiterRedisOptions extends RateLimiterOptions {
  /** ioredis, iovalkey, node-redis or valkey-glide, single, Sentinel or Cluster. Not with `store`. */
  readonly storeClient?: object | undefined;
  /** A key with so many consumed points is refused by this process alone, without asking the server. */
  readonly inMemoryBlockOnConsumed?: number | undefined;
  /** For so many seconds; default: as long as the server would refuse it. */
  readonly inMemoryBlockDuration?: number | undefined;
  /** Reject at once while the client is not connected. */
  readonly rejectIfRedisNotReady?: boolean | undefined;
  /** Clients are recognised: this changes nothing. */
  readonly useRedisPackage?: boolean | undefined;
}

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
const REDIS_OPTIONS = [
  ...OPTIONS,
  'storeClient',
  'inMemoryBlockOnConsumed',
  'inMemoryBlockDuration',
  'rejectIfRedisNotReady',
  'useRedisPackage',
] as const;

/** What the two classes share. Its numbers may be changed while it runs; windows that are open keep their end. */
class PointLimiter implements RateLimiterLike {
  points: number;
  duration: number;
  blockDuration: number;
  execEvenly: boolean;
  execEvenlyMinDelayMs: Millis | undefined;
  readonly keyPrefix: string;
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
    // As documented: whoever stands in blocks as long, and spreads as evenly.
    if (insuranceLimiter !== undefined)
      Object.assign(checked('insuranceLimiter', insuranceLimiter), { blockDuration, execEvenly });
    this.store = store;
    this.tally = pointsIn(store, keyPrefix);
    this.blocks = blocks;
  }

  get msDuration(): Millis {
    return this.duration * 1000;
  }

  get msBlockDuration(): Millis {
    return this.blockDuration * 1000;
  }

  getKey(key: Key): string {
    return this.keyPrefix === '' ? nameOf(key) : `${this.keyPrefix}:${nameOf(key)}`;
  }

  /** Resolves if it fits, rejects with a RateLimiterRes if not. Refused points are counted, too. */
  consume(key: Key, points = 1, options: ConsumeOptions = {}): Promise<RateLimiterRes> {
    return this.insured(
      () => this.consumeHere(nameOf(key), pointsOf(points), options),
      (standIn) => standIn.consume(key, points, options),
    );
  }

  /** Adds points; never rejects because there are too many. */
  penalty(key: Key, points = 1, options: ConsumeOptions = {}): Promise<RateLimiterRes> {
    return this.insured(
      async () => {
        const cost = pointsOf(points);
        return this.describe(await this.tally.add(nameOf(key), cost, this.lengthOf(options)), cost);
      },
      (standIn) => standIn.penalty(key, points, options),
    );
  }

  /** Takes points off, down to 0: who never consumed any cannot be given some. */
  reward(key: Key, points = 1): Promise<RateLimiterRes> {
    return this.insured(
      async () => this.describe(await this.tally.subtract(nameOf(key), pointsOf(points))),
      (standIn) => standIn.reward(key, points),
    );
  }

  /** One point more than there are, for so many seconds; 0: for ever. */
  block(key: Key, secDuration: number): Promise<RateLimiterRes> {
    return this.insured(
      () => this.put(nameOf(key), Math.floor(this.points) + 1, secDuration),
      (standIn) => standIn.block(key, secDuration),
    );
  }

  /** So many consumed points, for so many seconds; 0: for ever. */
  set(key: Key, points: number, secDuration: number): Promise<RateLimiterRes> {
    return this.insured(
      () => this.put(nameOf(key), pointsOf(points), secDuration),
      (standIn) => standIn.set(key, points, secDuration),
    );
  }

  /** null when nothing is consumed. */
  get(key: Key): Promise<RateLimiterRes | null> {
    return this.insured(
      async () => {
        const tally = await this.tally.read(nameOf(key));
        return tally.consumed === 0 ? null : this.describe(tally);
      },
      (standIn) => standIn.get(key),
    );
  }

  /** Whether there was something to forget. */
  delete(key: Key): Promise<boolean> {
    return this.insured(
      async () => {
        this.blocks?.limiter.reset(nameOf(key));
        return (await this.tally.remove(nameOf(key))).consumed > 0;
      },
      (standIn) => standIn.delete(key),
    );
  }

  deleteInMemoryBlockedAll(): void {
    void this.blocks?.store.close();
  }

  private async consumeHere(key: string, cost: number, options: ConsumeOptions): Promise<RateLimiterRes> {
    const length = this.lengthOf(options);
    const blocked = this.blocks?.limiter.peek(key, 0).retryAfter ?? 0;
    if (blocked > 0) return refuse(new RateLimiterRes(0, msOf(blocked)));
    let tally = await this.tally.add(key, cost, length);
    // Only the call that goes over the limit blocks, so those that follow do not prolong it.
    if (this.blockDuration > 0 && tally.consumed > this.points && tally.consumed - cost <= this.points)
      tally = await this.tally.put(key, tally.consumed, this.msBlockDuration);
    const here = this.blockHere(key, tally);
    if (tally.consumed > this.points)
      return refuse(this.describe({ ...tally, left: Math.max(tally.left, here) }, cost));
    const res = this.describe(tally, cost);
    if (this.execEvenly && !res.isFirstInDuration && res.msBeforeNext > 0) await this.spread(res);
    return res;
  }

  /** For how long this process refuses the key from now on by itself. */
  private blockHere(key: string, { consumed, left }: Tally): Millis {
    if (this.blocks === undefined || consumed < this.blocks.from) return 0;
    const span = this.blocks.length > 0 ? this.blocks.length : left;
    if (span > 0) this.blocks.limiter.block(key, span);
    return span;
  }

  /** An equal share of what is left of the duration, but no less than the minimum. */
  private spread({ msBeforeNext, remainingPoints }: RateLimiterRes): Promise<void> {
    const least = this.execEvenlyMinDelayMs ?? Math.ceil(this.msDuration / this.points);
    const delay = Math.max(Math.ceil(msBeforeNext / (remainingPoints + 2)), least);
    return new Promise((resolve) => this.store.clock.after(delay, resolve));
  }

  private async put(key: string, points: number, secDuration: number): Promise<RateLimiterRes> {
    const length = lengthOf(notNegative('secDuration', secDuration));
    return this.describe(await this.tally.put(key, points, length));
  }

  private lengthOf({ customDuration = this.duration }: ConsumeOptions): Millis {
    return lengthOf(notNegative('customDuration', customDuration));
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

/** In this process, or on the `store` it is given. */
export class RateLimiterMemory extends PointLimiter {
  constructor(options: RateLimiterOptions) {
    known('RateLimiterMemory', options, OPTIONS);
    super(options, storeOf(options));
  }
}

/** On the server of `storeClient`, or on the `store` it is given. */
export class RateLimiterRedis extends PointLimiter {
  readonly inMemoryBlockOnConsumed: number;
  readonly inMemoryBlockDuration: number;

  constructor(options: RateLimiterRedisOptions) {
    known('RateLimiterRedis', options, REDIS_OPTIONS);
    const { storeClient, store, inMemoryBlockOnConsumed = 0, inMemoryBlockDuration = 0 } = options;
    if ((storeClient === undefined) === (store === undefined))
      throw new SluiceError('ERR_OPTIONS', 'storeClient', storeClient, 'a client, or else a store');
    if (
      inMemoryBlockOnConsumed !== 0 &&
      whole('inMemoryBlockOnConsumed', inMemoryBlockOnConsumed) < options.points
    )
      throw new SluiceError(
        'ERR_NUMBER',
        'inMemoryBlockOnConsumed',
        inMemoryBlockOnConsumed,
        'at least points',
      );
    if (notNegative('inMemoryBlockDuration', inMemoryBlockDuration) > 0 && inMemoryBlockOnConsumed === 0)
      throw new SluiceError('ERR_MISSING_OPTION', 'inMemoryBlockOnConsumed', undefined);
    const { rejectIfRedisNotReady = false, clock } = options;
    const found = storeOf(options, storeClient);
    super(
      options,
      rejectIfRedisNotReady && storeClient !== undefined ? onlyWhenReady(found, storeClient) : found,
      inMemoryBlockOnConsumed === 0
        ? undefined
        : localBlocks(inMemoryBlockOnConsumed, inMemoryBlockDuration * 1000, clock),
    );
    this.inMemoryBlockOnConsumed = inMemoryBlockOnConsumed;
    this.inMemoryBlockDuration = inMemoryBlockDuration;
  }
}

function nameOf(key: unknown): string {
  if (typeof key === 'number') return String(key);
  if (typeof key !== 'string') throw new SluiceError('ERR_KEY', 'key', key, 'or a number');
  return key;
}

function pointsOf(points: unknown): number {
  if (!Number.isSafeInteger(points) || (points as number) < 0)
    throw new SluiceError('ERR_COST', 'points', points, 'a whole one');
  return points as number;
}

/** Seconds to milliseconds; 0 means for ever. */
function lengthOf(seconds: number): Millis {
  return seconds === 0 ? EVER : Math.min(seconds * 1000, EVER);
}
