import type { Millis } from '../../index.ts';

/** What there is of a key. */
export class RateLimiterRes {
  /** Until its points are forgotten; −1: never. */
  readonly msBeforeNext: Millis;
  readonly remainingPoints: number;
  /** May be above the limit: refused points are counted, too. */
  readonly consumedPoints: number;
  readonly isFirstInDuration: boolean;

  constructor(remainingPoints = 0, msBeforeNext = 0, consumedPoints = 0, isFirstInDuration = false) {
    this.msBeforeNext = msBeforeNext;
    this.remainingPoints = remainingPoints;
    this.consumedPoints = consumedPoints;
    this.isFirstInDuration = isFirstInDuration;
  }

  toJSON(): {
    remainingPoints: number;
    msBeforeNext: Millis;
    consumedPoints: number;
    isFirstInDuration: boolean;
  } {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } = this;
    return { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration };
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** A refusal is no Error, but what their callers catch. */
export function refuse(answer: unknown): Promise<never> {
  return Promise.reject(answer);
}
