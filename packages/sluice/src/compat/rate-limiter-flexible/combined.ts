/** Limiters over others: a call must pass all of them, or one of two, or waits until it passes. */
import { type Clock, memory, type Millis, SluiceError } from '../../index.ts';
import { known, notNegative, whole } from '../../options.ts';
import { RateLimiterRes, refuse } from './points.ts';

/** Points belong to a string, or to a number read as one. */
export type Key = string | number;

/** What limiters are asked for when they are combined; those of rate-limiter-flexible itself have it, too. */
export interface RateLimiterLike {
  readonly keyPrefix: string;
  readonly points?: number | undefined;
  consume(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  penalty(key: Key, points?: number, options?: ConsumeOptions): Promise<RateLimiterRes>;
  reward(key: Key, points?: number): Promise<RateLimiterRes>;
  block(key: Key, secDuration: number): Promise<RateLimiterRes>;
  set(key: Key, points: number, secDuration: number): Promise<RateLimiterRes>;
  get(key: Key): Promise<RateLimiterRes | null>;
  delete(key: Key): Promise<boolean>;
}

export interface ConsumeOptions {
  /** Seconds, in place of `duration`, if this call is the first of its window. */
  readonly customDuration?: number | undefined;
}

/** All or nothing: what one refuses, no other has charged. Answers by `keyPrefix`. */
export class RateLimiterUnion {
  private readonly limiters: readonly RateLimiterLike[];

  constructor(...limiters: RateLimiterLike[]) {
    if (limiters.length === 0) throw new SluiceError('ERR_OPTIONS', 'limiters', limiters, 'at least one');
    for (const limiter of limiters) checked('limiters', limiter);
    this.limiters = limiters;
  }

  /** Rejects with the answers of those that refuse; one that fails has its Error there. */
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

/** What the first limiter refuses, the second may still let pass. Points are always those of the first. */
export class BurstyRateLimiter {
  private readonly limiter: RateLimiterLike;
  private readonly burst: RateLimiterLike;

  constructor(rateLimiter: RateLimiterLike, burstLimiter: RateLimiterLike) {
    this.limiter = checked('rateLimiter', rateLimiter);
    this.burst = checked('burstLimiter', burstLimiter);
  }

  get points(): number | undefined {
    return this.limiter.points;
  }

  async consume(key: Key, points = 1): Promise<RateLimiterRes> {
    const own = await outcome(this.limiter.consume(key, points));
    if (own.passed) return own.res;
    const burst = await outcome(this.burst.consume(key, points));
    const res = combine(own.res, burst.res);
    return burst.passed ? res : refuse(res);
  }

  async get(key: Key): Promise<RateLimiterRes | null> {
    const [own, burst] = await Promise.all([this.limiter.get(key), this.burst.get(key)]);
    return own === null ? null : combine(own, burst);
  }
}

/** The sooner of the two: at once when the burst is untouched. −1 is never. */
function combine(own: RateLimiterRes, burst: RateLimiterRes | null): RateLimiterRes {
  const waits = [own.msBeforeNext, burst?.msBeforeNext ?? 0].filter((ms) => ms >= 0);
  const msBeforeNext = waits.length === 0 ? -1 : Math.min(...waits);
  return new RateLimiterRes(own.remainingPoints, msBeforeNext, own.consumedPoints, own.isFirstInDuration);
}

/** A limiter of one kind or the other, also a BurstyRateLimiter. */
export type QueueLimiter = Pick<RateLimiterLike, 'points' | 'consume' | 'get'>;

export interface RateLimiterQueueOptions {
  /** Calls that may wait per key; one more is rejected. Default: no bound that anybody meets. */
  readonly maxQueueSize?: number | undefined;
  /** For tests: tells the time, and wakes those who wait. */
  readonly clock?: { now(): Millis; after?: Clock['after'] } | undefined;
}

export class RateLimiterQueueError extends Error {
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

export class RateLimiterQueue {
  private readonly limiter: QueueLimiter;
  private readonly maxQueueSize: number;
  private readonly now: () => Millis;
  private readonly alarms: Pick<Clock, 'after'>;
  private readonly lines = new Map<Key, Waiter[]>();

  constructor(limiter: QueueLimiter, options: RateLimiterQueueOptions = {}) {
    known('RateLimiterQueue', options, ['maxQueueSize', 'clock']);
    const { maxQueueSize = 2 ** 32 - 1, clock } = options;
    this.limiter = checked('limiter', limiter);
    this.maxQueueSize = whole('maxQueueSize', maxQueueSize);
    this.now = () => clock?.now() ?? Date.now();
    this.alarms = memory({ clock }).clock;
  }

  async getTokensRemaining(key: Key = DEFAULT_KEY): Promise<number> {
    const res = await this.limiter.get(key);
    return res === null ? (this.limiter.points ?? 0) : res.remainingPoints;
  }

  /** Resolves with what remains when the tokens are consumed. `expiresUnixAt` is in seconds; 0: wait as long as it takes. */
  async removeTokens(tokens: number, key: Key = DEFAULT_KEY, expiresUnixAt = 0): Promise<number> {
    const most = this.limiter.points ?? Infinity;
    if (tokens > most)
      throw new RateLimiterQueueError(
        `Requested tokens ${tokens} exceeds maximum ${most} tokens per interval`,
      );
    const deadline = notNegative('expiresUnixAt', expiresUnixAt) * 1000;
    if (deadline > 0 && deadline <= this.now()) throw expired();
    if (this.lines.has(key)) return this.wait(key, tokens, deadline, 0);
    const { passed, res } = await outcome(this.limiter.consume(key, tokens));
    return passed ? res.remainingPoints : this.wait(key, tokens, deadline, res.msBeforeNext);
  }

  private wait(key: Key, tokens: number, deadline: Millis, msBeforeNext: Millis): Promise<number> {
    const line = this.lines.get(key) ?? [];
    if (line.length >= this.maxQueueSize)
      throw new RateLimiterQueueError(`Number of requests reached its maximum ${this.maxQueueSize}`);
    const waiter = { tokens } as Waiter;
    const turn = new Promise<number>((resolve, reject) => Object.assign(waiter, { resolve, reject }));
    if (deadline > 0) {
      const cancel = this.alarms.after(deadline - this.now(), () => {
        leave(line, waiter);
        waiter.reject(expired());
      });
      turn.then(cancel, cancel);
    }
    line.push(waiter);
    if (!this.lines.has(key)) {
      this.lines.set(key, line);
      this.serveAfter(key, line, msBeforeNext);
    }
    return turn;
  }

  private serveAfter(key: Key, line: Waiter[], delay: Millis): void {
    // What is never given back is not waited for in vain: it is asked for again.
    this.alarms.after(delay < 0 ? ASK_AGAIN : Math.max(1, delay), () => void this.serve(key, line));
  }

  /** One head after the other, until one must wait. */
  private async serve(key: Key, line: Waiter[]): Promise<void> {
    for (let head = line[0]; head !== undefined; head = line[0]) {
      try {
        const { passed, res } = await outcome(this.limiter.consume(key, head.tokens));
        if (!passed) return this.serveAfter(key, line, res.msBeforeNext);
        head.resolve(res.remainingPoints);
      } catch (error) {
        head.reject(error);
      }
      leave(line, head);
    }
    this.lines.delete(key);
  }
}

/** How often a key that is blocked for ever is asked for again: somebody may delete it. */
const ASK_AGAIN: Millis = 1000;

/** It may have given up meanwhile. */
function leave(line: Waiter[], waiter: Waiter): void {
  const place = line.indexOf(waiter);
  if (place >= 0) line.splice(place, 1);
}

const expired = (): RateLimiterQueueError =>
  new RateLimiterQueueError('The request to remove tokens expired before it could be fulfilled');

export function checked<L extends Pick<RateLimiterLike, 'consume'>>(option: string, limiter: L): L {
  if (typeof limiter?.consume !== 'function')
    throw new SluiceError('ERR_OPTIONS', option, limiter, 'such as a RateLimiterMemory');
  return limiter;
}

/** A refusal is a value here; an Error stays one. */
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
