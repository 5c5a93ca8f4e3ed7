/**
 * Detects changes to files. Editors replace files by renaming them, Kubernetes swaps a symbolic link in a parent folder, and some
 * file systems send no events. So folders are watched instead of files, any event triggers a check, and a check also runs every
 * few seconds.
 */
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Milliseconds to wait after the last event, because events arrive in groups, and the file may be half written at the first
 * event.
 */
const SETTLE_TIME = 100;
const CHECK_EVERY = 5000;

/**
 * Calls `check` whenever the files may have changed; `check` must find out whether they have changed. Returns a function that
 * stops watching.
 */
export function watchPaths(paths: readonly string[], check: () => void): () => void {
  let watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  function scheduleCheck(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      updateWatchers();
      check();
    }, SETTLE_TIME);
  }

  /** Updates the watched folders, because links may have changed. */
  function updateWatchers(): void {
    const folders = new Set(paths.flatMap(foldersOf));
    const next = new Map<string, FSWatcher>();
    for (const [folder, watcher] of watchers) {
      // A folder that was replaced by another folder with the same name keeps its stale watcher. The periodic check covers this
      // case.
      if (folders.has(folder)) next.set(folder, watcher);
      else watcher.close();
    }
    watchers = next;
    for (const folder of folders) if (!watchers.has(folder)) watchFolder(folder);
  }

  function watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, scheduleCheck);
      watcher.on('error', () => {
        watcher.close();
        watchers.delete(folder);
      });
      watchers.set(folder, watcher);
    } catch {
      // The folder is missing, or the system has no watches left. The periodic check still runs.
    }
  }

  updateWatchers();
  // The files may have changed between being read and being watched.
  check();
  const interval = setInterval(() => {
    updateWatchers();
    check();
  }, CHECK_EVERY);
  interval.unref();
  return () => {
    clearTimeout(timer);
    clearInterval(interval);
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** The folders to watch for a path: its parent folder, and the folder that holds its content once links are resolved. */
function foldersOf(path: string): string[] {
  const folders = [dirname(resolve(path))];
  try {
    const real = realpathSync(path);
    folders.push(statSync(real).isDirectory() ? real : dirname(real));
  } catch {
    // The path does not exist at the moment.
  }
  return folders;
}
