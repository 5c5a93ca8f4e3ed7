import type { Store } from '../engine/contract.ts';
import { SluiceError } from '../internal/errors.ts';
import { storeIn } from '../internal/options.ts';
import { memory } from '../stores/memory/memory.ts';
import { warnOnce } from '../internal/warn.ts';

/** Returns the store that a limiter was given, or creates one in memory. `name` is the limiter's name, if it has one. */
export function storeOf(given: Store | undefined, name: string | undefined): Store {
  if (given === undefined) {
    warnInWorker();
    return memory();
  }
  storeIn('createLimiter.store', given);
  if (name === undefined && given.ephemeral !== true)
    throw new SluiceError('ERR_MISSING_OPTION', 'createLimiter.name', name, "such as name: 'api'", UNNAMED);
  return given;
}

const UNNAMED =
  'is required for a store that outlives the process or is shared, because limiters with the same name share their keys';

interface Host {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly send?: unknown;
    getBuiltinModule?(name: string): { readonly isWorker?: boolean } | undefined;
  };
}

/**
 * Warns in a worker of a cluster, because the default store counts only in its own process, which is rarely intended in a cluster.
 * A caller that passes `memory()` explicitly gets no warning.
 */
function warnInWorker(): void {
  const { process } = globalThis as Host;
  // A worker of node:cluster has a channel to its primary. In a process without such a channel, this code does not load
  // node:cluster.
  const isWorker =
    typeof process?.send === 'function' && process.getBuiltinModule?.('node:cluster')?.isWorker === true;
  const env = process?.env ?? {};
  // PM2 numbers the instances of an application from 0, so a number above 0 means that the application has several instances.
  if (env['instances'] === '1' || !(isWorker || Number(env['NODE_APP_INSTANCE']) > 0)) return;
  warnOnce(
    'SLUICE_WORKER_MEMORY',
    "createLimiter: this process is one of several workers, and a limiter without a store counts only in its own process, so with 4 workers, '100/min' admits 400. Share the limit with ipc() from 'sluice/ipc' or redis() from 'sluice/redis', or pass store: memory() to count per process.",
  );
}
