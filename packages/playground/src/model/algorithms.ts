/** Every algorithm of the library: its name in policy text, its name in code and its factory. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  type Policy,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from 'sluice';

interface Known {
  readonly code: string;
  /** Factories validate their options themselves, so the types are loose here. */
  readonly make: (options: never) => Policy;
}

export const KNOWN = {
  gcra: { code: 'gcra', make: gcra },
  'token-bucket': { code: 'tokenBucket', make: tokenBucket },
  'leaky-bucket': { code: 'leakyBucket', make: leakyBucket },
  'fixed-window': { code: 'fixedWindow', make: fixedWindow },
  'sliding-window': { code: 'slidingWindow', make: slidingWindow },
  'sliding-log': { code: 'slidingLog', make: slidingLog },
  pacer: { code: 'pacer', make: pacer },
  concurrency: { code: 'concurrency', make: concurrency },
  'min-interval': { code: 'minInterval', make: minInterval },
  penalty: { code: 'penalty', make: penalty },
} as const satisfies Readonly<Record<string, Known>>;

export type AlgorithmName = keyof typeof KNOWN;
export const ALGORITHMS = Object.keys(KNOWN) as readonly AlgorithmName[];

/** Algorithms that are not rates and are always written with options. */
export const UNRATED: readonly AlgorithmName[] = ['concurrency', 'min-interval', 'penalty'];
export const BURSTY: readonly AlgorithmName[] = ['gcra', 'token-bucket', 'leaky-bucket', 'pacer'];
