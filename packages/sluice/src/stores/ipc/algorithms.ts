/** Algorithms by name, since a plan crosses without its functions. */
import {
  concurrency,
  fixedWindow,
  gcra,
  leakyBucket,
  minInterval,
  pacer,
  penalty,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../algorithms/index.ts';
import type { Algorithm } from '../../contract.ts';
import { SluiceError } from '../../errors.ts';
import type { Algorithms } from './wire.ts';

/** One policy of each sort: what is asked of it is its algorithm. */
const SAMPLES = [
  concurrency({ limit: 1, lease: 1 }),
  fixedWindow({ limit: 1, per: 1 }),
  fixedWindow({ limit: 1, align: 'day' }),
  gcra({ limit: 1, per: 1 }),
  leakyBucket({ size: 1 }),
  minInterval({ every: 1 }),
  pacer({ limit: 1, per: 1 }),
  penalty({ after: 1, within: 1, block: 1 }),
  slidingLog({ limit: 1, per: 1 }),
  slidingWindow({ limit: 1, per: 1 }),
  tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  tokenBucket({ capacity: 1, refill: 1, every: 1, continuous: false }),
];

export function algorithmsByName(own: readonly Algorithm[]): Algorithms {
  const byName = new Map(SAMPLES.map(({ algorithm }) => [algorithm.name, algorithm]));
  for (const algorithm of own) {
    if (typeof algorithm?.name !== 'string' || byName.has(algorithm.name))
      throw new SluiceError('ERR_OPTIONS', 'ipc.algorithms', algorithm, 'algorithms with names of their own');
    byName.set(algorithm.name, algorithm);
  }
  return byName;
}
