/** One limit for the processes of a machine, without a server to install: one of them decides for all. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { algorithmsByName } from '../../algorithms/by-name.ts';
import type { Algorithm, Decision, Store } from '../../engine/contract.ts';
import { duration } from '../../internal/duration.ts';
import { SluiceError } from '../../internal/errors.ts';
import { checkOptionNames, storeIn } from '../../internal/options.ts';
import { resilient, type ResilientOptions } from '../../wrappers/resilient/resilient.ts';
import { memory } from '../memory/memory.ts';
import { ipcStore } from './ipc-store.ts';
import { tableOf } from './table.ts';

export interface IpcOptions extends ResilientOptions {
  /** Of a Unix socket, in an existing folder that only these processes may write to; on Windows a pipe, `\\\\.\\pipe\\name`. */
  readonly path: string;
  /** Whether this process may be the one that decides; default true. */
  readonly serve?: boolean | undefined;
  /** What it decides with then; default `memory()`. */
  readonly store?: Store | undefined;
  /** Algorithms that are not Sluice's own. All processes need the same. */
  readonly algorithms?: readonly Algorithm[] | undefined;
}

/**
 * How long a check may wait for the serving process, unless told otherwise. If that process ends, its socket closes and the
 * check goes to its successor, so this matters only while its event loop is busy.
 */
const DEADLINE = 2000;
/** Unix has 108 bytes for it, macOS 104, its end included. */
const LONGEST_PATH = 103;

/** A store for the processes of a machine: one of them decides, the others ask it over a socket. */
export function ipc(options: IpcOptions): Store<Promise<Decision>> {
  const { path, serve, store, algorithms, ...rest } = checkOptionNames('ipc', options, [
    'path',
    'serve',
    'store',
    'algorithms',
    'deadline',
    'onFailure',
    'maxInFlight',
    'onEvent',
  ]);
  if (typeof path !== 'string' || path === '') throw new SluiceError('ERR_MISSING_OPTION', 'ipc.path', path);
  if (!path.startsWith('\\\\') && Buffer.byteLength(path) > LONGEST_PATH)
    throw new SluiceError(
      'ERR_OPTIONS',
      'ipc.path',
      path,
      `at most ${LONGEST_PATH} bytes`,
      'is too long for a socket',
    );
  // Only who may serve must be able to make the socket: another process may make the folder before it serves.
  if (serve !== false && !path.startsWith('\\\\') && !existsSync(dirname(path)))
    throw new SluiceError(
      'ERR_OPTIONS',
      'ipc.path',
      path,
      'create it before',
      'must be in a folder that exists',
    );
  if (store !== undefined) storeIn('ipc.store', store);
  const byName = algorithmsByName('ipc.algorithms', algorithms);
  const deadline = duration('ipc.deadline', rest.deadline ?? DEADLINE);
  // A pipe of Windows is not in a folder.
  const file = path.startsWith('\\\\') ? undefined : `${path}.state`;
  const table = serve === false ? undefined : tableOf(store ?? memory(), byName, file);
  return resilient(ipcStore({ path, table, algorithms: byName, deadline }), { ...rest, deadline });
}
