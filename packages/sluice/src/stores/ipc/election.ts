/**
 * Who serves: the first that can bind the path. A socket's file outlives the process that made it, and only who
 * holds the lock, a directory beside it, may remove one that nobody answers on. Otherwise two processes could each
 * remove the other's.
 */
import { mkdir, rm, rmdir, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';

/** A lock older than this, in milliseconds, belonged to a process that died between two lines. */
const STALE = 2000;
/** Errors that mean that nobody serves. */
const NOBODY = new Set(['ENOENT', 'ECONNREFUSED']);

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code);
}

export function isNobody(error: unknown): boolean {
  return NOBODY.has(codeOf(error));
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

/** Calls `bind` where nobody serves and nobody else is about to. Undefined: somebody does or is; dial again. */
export async function stand<T>(path: string, bind: () => Promise<T>): Promise<T | undefined> {
  // A pipe of Windows ends with its process: binding alone decides.
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
    // Again, now that nobody else can begin to serve.
    const socket = await dial(path).catch((error: unknown) => {
      if (isNobody(error)) return undefined;
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
