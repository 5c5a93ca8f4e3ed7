// The factories and the types of their options, one line per algorithm. registry.ts lists the algorithms by name.
export { type ConcurrencyOptions, concurrency } from './concurrency/concurrency.ts';
export { type FixedWindowOptions, fixedWindow } from './fixed-window/fixed-window.ts';
export { type GcraOptions, gcra } from './gcra/gcra.ts';
export { type LeakyBucketOptions, leakyBucket } from './leaky-bucket/leaky-bucket.ts';
export { type MinIntervalOptions, minInterval } from './min-interval/min-interval.ts';
export { type PacerOptions, pacer } from './pacer/pacer.ts';
export { type PenaltyOptions, penalty } from './penalty/penalty.ts';
export { type SlidingLogOptions, slidingLog } from './sliding-log/sliding-log.ts';
export { type SlidingWindowOptions, slidingWindow } from './sliding-window/sliding-window.ts';
export { type TokenBucketOptions, tokenBucket } from './token-bucket/token-bucket.ts';
