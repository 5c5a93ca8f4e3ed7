import type { Store } from './contract.ts';
import { SluiceError } from './errors.ts';
import { memory } from './stores/memory/memory.ts';

/** The store that a limiter was given, or one of its own. */
export function storeOf(given: Store | undefined): Store {
  if (given !== undefined && typeof given?.apply !== 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter.store', given, 'a store');
  return given ?? memory();
}
