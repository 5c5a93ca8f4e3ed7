/**
 * Tells when files have changed. Editors replace files by renaming, Kubernetes swaps a symbolic link two steps up, some
 * file systems tell nothing: so folders are watched, not files; any sign makes us look; and we look every few seconds anyway.
 */
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Signs come in swarms, and a file may be half written at the first. */
const SETTLED = 100;
const LOOK_EVERY = 5000;

/** `look` is called often; it has to find out itself whether anything has changed. Returns what ends it. */
export function watchPaths(paths: readonly string[], look: () => void): () => void {
  let watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  function soon(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      follow();
      look();
    }, SETTLED);
  }

  /** Links may point elsewhere by now. */
  function follow(): void {
    const folders = new Set(paths.flatMap(foldersOf));
    const next = new Map<string, FSWatcher>();
    for (const [folder, watcher] of watchers) {
      // One that was replaced is watched no more, though its name is the same.
      if (folders.has(folder)) next.set(folder, watcher);
      else watcher.close();
    }
    watchers = next;
    for (const folder of folders) if (!watchers.has(folder)) watchFolder(folder);
  }

  function watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, soon);
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch {
      // Not there, or no watches left: the look every few seconds remains.
    }
  }

  follow();
  // What changed since it was read, before anybody watched.
  look();
  const interval = setInterval(() => {
    follow();
    look();
  }, LOOK_EVERY);
  interval.unref();
  return () => {
    clearTimeout(timer);
    clearInterval(interval);
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** The folder of a file, the folder of what it is a link to; a folder itself, and the one that it is in. */
function foldersOf(path: string): string[] {
  const folders = [dirname(resolve(path))];
  try {
    const real = realpathSync(path);
    folders.push(statSync(real).isDirectory() ? real : dirname(real));
  } catch {
    // Gone for the moment.
  }
  return folders;
}
