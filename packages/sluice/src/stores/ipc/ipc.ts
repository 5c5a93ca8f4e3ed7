/**
 * Shares one limit between all processes of a machine, without a server to install. One of the processes decides for all of them.
 */
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
  /**
   * The path of a Unix socket, in an existing folder that only these processes can write to. On Windows, the path of a named
   * pipe, such as `\\\\.\\pipe\\name`.
   */
  readonly path: string;
  /** Whether this process may become the serving process. Default true. */
  readonly serve?: boolean | undefined;
  /** The store with which the serving process decides. Default `memory()`. */
  readonly store?: Store | undefined;
  /** Custom algorithms, which must be the same in all processes. */
  readonly algorithms?: readonly Algorithm[] | undefined;
}

/**
 * The default deadline of a check. If the serving process ends, its socket closes and the check is sent to its successor, so
 * the deadline matters only while the event loop of the serving process is busy.
 */
const DEADLINE = 2000;
/** Maximum length of a socket path, in bytes. Linux allows 108 and macOS 104, including the terminating zero. */
const LONGEST_PATH = 103;

/**
 * Creates a store for the processes of a machine. One of the processes decides, and the others send it their hits over a socket.
 */
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
  // Only a process that may serve needs the folder now. The other processes need it only once a process serves there.
  if (serve !== false && !path.startsWith('\\\\') && !existsSync(dirname(path)))
    throw new SluiceError(
      'ERR_OPTIONS',
      'ipc.path',
      path,
      'create the folder first',
      'must be in a folder that exists',
    );
  if (store !== undefined) storeIn('ipc.store', store);
  const byName = algorithmsByName('ipc.algorithms', algorithms);
  const deadline = duration('ipc.deadline', rest.deadline ?? DEADLINE);
  // A Windows pipe is not in a folder.
  const file = path.startsWith('\\\\') ? undefined : `${path}.state`;
  const table = serve === false ? undefined : tableOf(store ?? memory(), byName, file);
  return resilient(ipcStore({ path, table, algorithms: byName, deadline }), { ...rest, deadline });
}
