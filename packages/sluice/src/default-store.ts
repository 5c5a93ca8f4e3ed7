import type { Store } from './contract.ts';
import { SluiceError } from './errors.ts';
import { storeIn } from './options.ts';
import { memory } from './stores/memory/memory.ts';

/** The store that a limiter was given, or one of its own. `name`: the limiter's, if it has one. */
export function storeOf(given: Store | undefined, name: string | undefined): Store {
  if (given === undefined) return memory();
  storeIn('createLimiter.store', given);
  if (name === undefined && given.ephemeral !== true)
    throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, "such as name: 'api'", UNNAMED);
  return given;
}

/** The options of a limiter, and not what belongs into them. */
export function limiterOptions<T>(options: T): T {
  if (typeof options === 'string')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, `such as { name: '${options}' }`);
  if (typeof (options as { apply?: unknown } | null)?.apply === 'function')
    throw new SluiceError('ERR_OPTIONS', 'createLimiter', options, 'put the store into it: { store }');
  return options;
}

const UNNAMED =
  'is required for a store that outlives the process or is shared: limiters with the same name share their keys';
