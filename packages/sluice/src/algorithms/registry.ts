/**
 * All algorithms, by the name that they have in policy texts and configuration files. The parser of policy texts, the ipc store,
 * the server and the playground use this registry, so a new algorithm needs only one line here.
 */
import { concurrencyEntry } from './concurrency/concurrency.ts';
import type { AlgorithmEntry, RatedEntry } from './entry.ts';
import { fixedWindowEntry } from './fixed-window/fixed-window.ts';
import { gcraEntry } from './gcra/gcra.ts';
import { leakyBucketEntry } from './leaky-bucket/leaky-bucket.ts';
import { minIntervalEntry } from './min-interval/min-interval.ts';
import { pacerEntry } from './pacer/pacer.ts';
import { penaltyEntry } from './penalty/penalty.ts';
import { slidingLogEntry } from './sliding-log/sliding-log.ts';
import { slidingWindowEntry } from './sliding-window/sliding-window.ts';
import { tokenBucketEntry } from './token-bucket/token-bucket.ts';

/** The algorithms that have a text form. They are listed separately so that `createLimiter` does not load the others. */
export const ratedAlgorithms: Readonly<Record<string, RatedEntry>> = {
  gcra: gcraEntry,
  'token-bucket': tokenBucketEntry,
  'leaky-bucket': leakyBucketEntry,
  'fixed-window': fixedWindowEntry,
  'sliding-window': slidingWindowEntry,
  'sliding-log': slidingLogEntry,
  pacer: pacerEntry,
};

/** All algorithms by name, such as `algorithms['sliding-log'].factory`. */
export const algorithms: Readonly<Record<string, AlgorithmEntry>> = /* @__PURE__ */ joined(ratedAlgorithms, {
  concurrency: concurrencyEntry,
  'min-interval': minIntervalEntry,
  penalty: penaltyEntry,
});

type Entries = Readonly<Record<string, AlgorithmEntry>>;

/** Joins two registries. This is a call instead of a spread, because bundlers can drop an unused call that is marked as pure. */
function joined(first: Entries, second: Entries): Entries {
  return { ...first, ...second };
}
