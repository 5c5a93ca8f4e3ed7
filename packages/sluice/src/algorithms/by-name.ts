/**
 * Finds algorithms by name. A plan that crosses a socket contains only the names of its algorithms, and the receiving process
 * looks them up here.
 */
import type { Algorithm } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import type { AlgorithmEntry } from './entry.ts';
import { algorithms } from './registry.ts';

export type AlgorithmsByName = ReadonlyMap<string, Algorithm>;

/**
 * Returns Sluice's algorithms together with the caller's. All of them must have different names. `option` names the option that
 * contains the caller's algorithms.
 */
export function algorithmsByName(option: string, others: readonly Algorithm[] = []): AlgorithmsByName {
  const entries: readonly AlgorithmEntry[] = Object.values(algorithms);
  const own = entries.flatMap((entry) => entry.algorithms);
  const byName = new Map(own.map((algorithm) => [algorithm.name, algorithm]));
  for (const algorithm of others) {
    if (typeof algorithm?.name !== 'string' || byName.has(algorithm.name))
      throw new SluiceError(
        'ERR_OPTIONS',
        option,
        algorithm,
        '',
        'must contain algorithms with unique names',
      );
    byName.set(algorithm.name, algorithm);
  }
  return byName;
}
