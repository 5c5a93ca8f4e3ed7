/** Calls that wait for their points, first come first served per key. */
import { type Clock, memory, type Millis, SluiceError } from '../../index.ts';
import { known, notNegative, whole } from '../../options.ts';
import type { Key } from '../rate-limiter-flexible.ts';
import type { RateLimiterRes } from './res.ts';

/** A limiter of one kind or the other, also a BurstyRateLimiter. */
export interface QueueLimiter {
  readonly points?: number | undefined;
  consume(key: Key, points?: number): Promise<RateLimiterRes>;
  get(key: Key): Promise<RateLimiterRes | null>;
}

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
  private readonly after: Clock['after'];
  private readonly lines = new Map<Key, Waiter[]>();

  constructor(limiter: QueueLimiter, options: RateLimiterQueueOptions = {}) {
    if (typeof limiter?.consume !== 'function')
      throw new SluiceError('ERR_OPTIONS', 'limiter', limiter, 'a limiter such as RateLimiterMemory');
    known('RateLimiterQueue', options, ['maxQueueSize', 'clock']);
    const { maxQueueSize = 2 ** 32 - 1, clock } = options;
    this.limiter = limiter;
    this.maxQueueSize = whole('maxQueueSize', maxQueueSize);
    this.now = clock === undefined ? Date.now : () => clock.now();
    const { clock: alarms } = memory({ clock });
    this.after = (delay, wake) => alarms.after(delay, wake);
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
    try {
      return (await this.limiter.consume(key, tokens)).remainingPoints;
    } catch (reason) {
      if (reason instanceof Error) throw reason;
      return this.wait(key, tokens, deadline, (reason as RateLimiterRes).msBeforeNext);
    }
  }

  private wait(key: Key, tokens: number, deadline: Millis, msBeforeNext: Millis): Promise<number> {
    const line = this.lines.get(key) ?? [];
    if (line.length >= this.maxQueueSize)
      throw new RateLimiterQueueError(`Number of requests reached its maximum ${this.maxQueueSize}`);
    return new Promise((resolve, reject) => {
      const cancel = deadline > 0 ? this.after(deadline - this.now(), giveUp) : undefined;
      const waiter: Waiter = {
        tokens,
        resolve(remaining) {
          cancel?.();
          resolve(remaining);
        },
        reject(reason) {
          cancel?.();
          reject(reason);
        },
      };
      function giveUp(): void {
        line.splice(line.indexOf(waiter), 1);
        reject(expired());
      }
      line.push(waiter);
      if (this.lines.has(key)) return;
      this.lines.set(key, line);
      this.serveAfter(key, line, msBeforeNext);
    });
  }

  private serveAfter(key: Key, line: Waiter[], delay: Millis): void {
    // What is never given back is not waited for in vain: it is asked for again.
    this.after(delay < 0 ? ASK_AGAIN : Math.max(1, delay), () => void this.serve(key, line));
  }

  /** One head after the other, until one must wait. */
  private async serve(key: Key, line: Waiter[]): Promise<void> {
    for (let head = line[0]; head !== undefined; head = line[0]) {
      try {
        const { remainingPoints } = await this.limiter.consume(key, head.tokens);
        leave(line, head);
        head.resolve(remainingPoints);
      } catch (reason) {
        if (!(reason instanceof Error))
          return this.serveAfter(key, line, (reason as RateLimiterRes).msBeforeNext);
        leave(line, head);
        head.reject(reason);
      }
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
