/**
 * Elects the serving process, which is the first process that binds the path. A socket file outlives the process that created it.
 * Only the process that holds the lock, a directory next to the socket, may remove a socket file on which no process answers.
 * Without the lock, two processes could each remove the other's socket.
 */
import { mkdir, rm, rmdir, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';

/** A lock older than this, in milliseconds, belonged to a process that died while it held the lock. */
const STALE = 2000;
/** Errors that mean that no process is serving. */
const NOT_SERVED = new Set(['ENOENT', 'ECONNREFUSED']);

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

export function isUnserved(error: unknown): boolean {
  return NOT_SERVED.has(codeOf(error));
}

export function dial(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** Calls `bind` if no other process is serving or about to serve. Otherwise returns undefined, and the caller should dial again. */
export async function elect<T>(path: string, bind: () => Promise<T>): Promise<T | undefined> {
  // A Windows pipe disappears when its process ends, so any process that can bind the path may serve.
  if (path.startsWith('\\\\')) return bind().catch(unlessTaken);
  const lock = `${path}.lock`;
  try {
    await mkdir(lock);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    const { mtimeMs } = await stat(lock).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > STALE) await rmdir(lock).catch(() => {});
    return undefined;
  }
  try {
    // Checks again, now that no other process can begin to serve.
    const socket = await dial(path).catch((error: unknown) => {
      if (isUnserved(error)) return undefined;
      throw error;
    });
    socket?.destroy();
    if (socket !== undefined) return undefined;
    await rm(path, { force: true });
    return await bind().catch(unlessTaken);
  } finally {
    await rmdir(lock).catch(() => {});
  }
}

function unlessTaken(error: unknown): undefined {
  if (codeOf(error) === 'EADDRINUSE') return undefined;
  throw error;
}
