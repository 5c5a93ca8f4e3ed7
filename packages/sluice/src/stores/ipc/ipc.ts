/** One limit for the processes of a machine, without a server to install: one of them decides for all. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { algorithmsByName } from '../../algorithms/by-name.ts';
import type { Algorithm, Decision, Store } from '../../contract.ts';
import { duration } from '../../duration.ts';
import { SluiceError } from '../../errors.ts';
import { known, storeHint, storeIn } from '../../options.ts';
import { DEADLINE, resilient, type ResilientOptions } from '../../wrappers/resilient.ts';
import { memory } from '../memory/memory.ts';
import { ipcStore } from './ipc-store.ts';
import { decider } from './server.ts';

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

/** Unix has 108 bytes for it, macOS 104, its end included. */
const LONGEST_PATH = 103;

/** A store for the processes of a machine: one of them decides, the others ask it over a socket. */
export function ipc(options: IpcOptions): Store<Promise<Decision>> {
  const { path, serve, store, algorithms, ...rest } = known('ipc', options, [
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
  if (store !== undefined) storeIn('ipc.store', store, storeHint);
  const byName = algorithmsByName('ipc.algorithms', algorithms);
  const deadline = duration('ipc.deadline', rest.deadline ?? DEADLINE);
  const decide = serve === false ? undefined : decider(store ?? memory(), byName);
  return resilient(ipcStore({ path, decide, algorithms: byName, deadline }), rest);
}
