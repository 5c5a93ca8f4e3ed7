/** Limiters that are several: a call must pass all of them, or one of two. */
import { SluiceError } from '../../index.ts';
import type { Key, RateLimiterLike } from '../rate-limiter-flexible.ts';
import { RateLimiterRes, refuse } from './res.ts';

/** All or nothing: what one refuses, no other has charged. Answers by `keyPrefix`. */
export class RateLimiterUnion {
  private readonly limiters: readonly RateLimiterLike[];

  constructor(...limiters: RateLimiterLike[]) {
    if (limiters.length === 0) throw new SluiceError('ERR_OPTIONS', 'limiters', limiters, 'at least one');
    for (const limiter of limiters) check('limiters', limiter);
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
    this.limiter = check('rateLimiter', rateLimiter);
    this.burst = check('burstLimiter', burstLimiter);
  }

  get points(): number | undefined {
    return this.limiter.points;
  }

  async consume(key: Key, points = 1): Promise<RateLimiterRes> {
    let refusal: RateLimiterRes;
    try {
      return await this.limiter.consume(key, points);
    } catch (reason) {
      if (reason instanceof Error) throw reason;
      refusal = reason as RateLimiterRes;
    }
    try {
      return combine(refusal, await this.burst.consume(key, points));
    } catch (reason) {
      if (reason instanceof Error) throw reason;
      return refuse(combine(refusal, reason as RateLimiterRes));
    }
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

function check(option: string, limiter: RateLimiterLike): RateLimiterLike {
  if (typeof limiter?.consume !== 'function')
    throw new SluiceError('ERR_OPTIONS', option, limiter, 'limiters such as RateLimiterMemory');
  return limiter;
}
