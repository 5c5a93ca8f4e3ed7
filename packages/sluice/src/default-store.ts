import type { Store } from './contract.ts';
import { SluiceError } from './errors.ts';
import { storeIn } from './options.ts';
import { memory } from './stores/memory/memory.ts';

/** The store that a limiter was given, or one of its own. `name`: the limiter's, if it has one. */
export function storeOf(
  given: Store | undefined,
  name: string | undefined,
  hintFor?: (value: unknown) => string,
): Store {
  if (given === undefined) return memory();
  storeIn('createLimiter.store', given, hintFor);
  if (name === undefined && given.ephemeral !== true)
    throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, "such as name: 'api'", UNNAMED);
  return given;
}

const UNNAMED =
  'is required for a store that outlives the process or is shared: limiters with the same name share their keys';
