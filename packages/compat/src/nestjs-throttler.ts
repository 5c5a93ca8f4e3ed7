/**
 * A storage for @nestjs/throttler on any store of Sluice.
 *
 * As documented by @nestjs/throttler, each hit expires after the ttl, and at most `limit` hits are live. One more hit blocks the
 * key for `blockDuration`, after which its count starts from zero. This is a sliding log plus a penalty at the first denial, in
 * one round trip.
 */
import { inMillis } from './shared/millis.ts';
import { type AnyLimiter, type Millis, penalty, type Policies, type Policy, slidingLog } from 'sluice';
import { counting, placeOf, roundedSpans, type SluiceStoreOptions } from './shared/hit-counter.ts';
import { limitersOf } from './shared/limiters.ts';
import { wholeUnits } from './shared/rounding.ts';

export type { SluiceStoreOptions } from './shared/hit-counter.ts';

/** The result of a hit, which the guard puts into headers. Times are in whole seconds. */
export interface ThrottlerRecord {
  /** Hits in the current window. */
  totalHits: number;
  /** Seconds until the window ends. */
  timeToExpire: number;
  /** Whether the guard denies the request. */
  isBlocked: boolean;
  /** Seconds until the block ends. */
  timeToBlockExpire: number;
}

/** The storage that the guard calls. */
export interface SluiceThrottlerStorage {
  /** Counts one hit. Times are in milliseconds. */
  increment(
    key: string,
    ttl: Millis,
    limit: number,
    blockDuration: Millis,
    throttlerName: string,
  ): Promise<ThrottlerRecord>;
  /** Nest calls this when the application shuts down. Another storage may then use the default prefix. */
  onApplicationShutdown(): void;
}

/** Limits above this value are treated as equal to it. */
const MOST_HITS = 2 ** 52;

/** Creates the storage for the `storage` option of `ThrottlerModule`. */
export function sluiceStore(options: SluiceStoreOptions = {}): SluiceThrottlerStorage {
  const { store, prefix, release } = placeOf(options, 'nestjs-throttler');
  const limiterOf = limitersOf(store);
  const rounded = roundedSpans();

  function limiterFor(throttlerName: string, ttl: Millis, limit: number, block: Millis): AnyLimiter {
    // Limits with and without a block have different rows, so they need different names.
    const name = `${prefix} ${throttlerName}${block > 0 ? ' with block' : ''}`;
    return limiterOf(name, `${ttl} ${limit} ${block}`, () => policiesOf(ttl, limit, block));
  }

  return {
    onApplicationShutdown: release,
    async increment(key, givenTtl, givenLimit, givenBlock, throttlerName) {
      if (givenLimit < 1) return record(1, givenTtl, true, givenBlock > 0 ? givenBlock : givenTtl);
      if (givenTtl <= 0) return record(1, 0, false, 0);
      const ttl = rounded(givenTtl);
      const limit = Math.min(givenLimit, MOST_HITS);
      const block = givenBlock > 0 ? rounded(givenBlock) : 0;
      const limiter = limiterFor(throttlerName, ttl, limit, block);

      const decision = await limiter.take(key);
      const named = (name: string) => decision.policies.find((policy) => policy.name === name);
      const timeToExpire = named('window')?.resetAfter ?? decision.resetAfter;
      if (decision.allowed)
        return record(Math.max(decision.limit - decision.remaining, 1), timeToExpire, false, 0);
      // A short block ends while hits are still live. Nothing is counted during the block, so the hits can be cleared now.
      const hits = named('hits');
      if (block > 0 && block < ttl && decision.source === 'store' && hits && hits.remaining < limit)
        await limiter.refund(key, limit);
      return record(limit + 1, timeToExpire, true, named('lockout')?.retryAfter ?? decision.retryAfter);
    },
  };
}

function policiesOf(ttl: Millis, limit: number, block: Millis): Policies {
  const policies: Record<string, Policy> = {
    hits: slidingLog({ limit, per: inMillis(ttl) }),
    // This policy never denies. It only reports the end of the window, which opens with the first hit.
    window: counting(ttl),
  };
  // The first denial already blocks, so `within` has no effect. It is short because it adds to the time for which rows are kept.
  if (block > 0)
    policies['lockout'] = penalty({ after: 1, within: '1ms', block: inMillis(block), factor: 1 });
  return policies;
}

function record(totalHits: number, expire: Millis, isBlocked: boolean, unblock: Millis): ThrottlerRecord {
  return { totalHits, timeToExpire: seconds(expire), isBlocked, timeToBlockExpire: seconds(unblock) };
}

const seconds = (span: Millis): number => wholeUnits(span, 1000);
