/** Where a plan crosses a socket, it names its algorithms, and the other side looks them up here. */
import type { Algorithm } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import { concurrencyAlgorithm } from './concurrency/concurrency.ts';
import { calendarWindowAlgorithm, fixedWindowAlgorithm } from './fixed-window/fixed-window.ts';
import { gcraAlgorithm } from './gcra/gcra.ts';
import { leakyBucketAlgorithm } from './leaky-bucket/leaky-bucket.ts';
import { minIntervalAlgorithm } from './min-interval/min-interval.ts';
import { pacerAlgorithm } from './pacer/pacer.ts';
import { penaltyAlgorithm } from './penalty/penalty.ts';
import { slidingLogAlgorithm } from './sliding-log/sliding-log.ts';
import { slidingWindowAlgorithm } from './sliding-window/sliding-window.ts';

export type AlgorithmsByName = ReadonlyMap<string, Algorithm>;

const OWN: readonly Algorithm[] = [
  calendarWindowAlgorithm,
  concurrencyAlgorithm,
  fixedWindowAlgorithm,
  gcraAlgorithm,
  leakyBucketAlgorithm,
  minIntervalAlgorithm,
  pacerAlgorithm,
  penaltyAlgorithm,
  slidingLogAlgorithm,
  slidingWindowAlgorithm,
];

/** Sluice's own and more, under names of their own. `option`: where the others were given. */
export function algorithmsByName(option: string, others: readonly Algorithm[] = []): AlgorithmsByName {
  const byName = new Map(OWN.map((algorithm) => [algorithm.name, algorithm]));
  for (const algorithm of others) {
    if (typeof algorithm?.name !== 'string' || byName.has(algorithm.name))
      throw new SluiceError('ERR_OPTIONS', option, algorithm, 'algorithms with names of their own');
    byName.set(algorithm.name, algorithm);
  }
  return byName;
}
