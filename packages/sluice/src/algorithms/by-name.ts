/** Where a plan crosses a socket, it names its algorithms, and the receiving process looks them up here. */
import type { Algorithm } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import type { AlgorithmEntry } from './entry.ts';
import { algorithms } from './registry.ts';

export type AlgorithmsByName = ReadonlyMap<string, Algorithm>;

/** Sluice's algorithms and further ones, whose names must differ. `option`: the option in which the others were given. */
export function algorithmsByName(option: string, others: readonly Algorithm[] = []): AlgorithmsByName {
  const entries: readonly AlgorithmEntry[] = Object.values(algorithms);
  const own = entries.flatMap((entry) => entry.algorithms);
  const byName = new Map(own.map((algorithm) => [algorithm.name, algorithm]));
  for (const algorithm of others) {
    if (typeof algorithm?.name !== 'string' || byName.has(algorithm.name))
      throw new SluiceError('ERR_OPTIONS', option, algorithm, 'give each algorithm a name of its own');
    byName.set(algorithm.name, algorithm);
  }
  return byName;
}
