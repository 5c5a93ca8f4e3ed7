/** Keeps a core at what its files say. An invalid file changes nothing, and is reported once. */
import type { Millis } from 'sluice';
import { type ConfigFile, readFiles } from './config.ts';
import { type Config, ConfigError, showFault } from './model.ts';
import { parseInWorker } from './parse-in-worker.ts';
import type { Core } from '../core/core.ts';
import type { Log } from '../log.ts';

/** The configuration in use, and what is wrong with a newer one. */
export interface Loaded {
  /** Epoch. */
  readonly loadedAt: Millis;
  readonly error: string | null;
}

export interface Reloader {
  readonly loaded: Loaded;
  /**
   * Reads the files and loads them if they have changed, or in any case with `always`. Resolves when the configuration they had
   * at this call, or a later one, is in use or was refused. Never rejects.
   */
  look(always?: boolean): Promise<void>;
}

export function createReloader(
  core: Core,
  paths: readonly string[],
  log: Log,
  files: readonly ConfigFile[],
  onChange: () => void = () => {},
): Reloader {
  let seen = JSON.stringify(files);
  let loaded: Loaded = { loadedAt: Date.now(), error: null };
  /** The last look that was asked for. */
  let last = Promise.resolve();
  /** The one that has not begun yet: whoever asks meanwhile shares it. */
  let waiting: { always: boolean } | undefined;

  async function reload(changed: readonly ConfigFile[]): Promise<void> {
    const config = await parseInWorker(changed);
    await core.reload(config);
    core.metrics.reloaded(true);
    log.info('configuration loaded', sizes(config));
    loaded = { loadedAt: Date.now(), error: null };
    onChange();
  }

  function reportError(error: unknown): void {
    core.metrics.reloaded(false);
    const faults = error instanceof ConfigError ? error.faults : [{ message: String(error) }];
    for (const { message: fault, ...place } of faults)
      log.error('configuration refused', { ...place, fault });
    log.warn('keeping the previous configuration');
    loaded = { ...loaded, error: errorOf(error) };
    onChange();
  }

  async function lookNow(always: boolean): Promise<void> {
    let now = '';
    try {
      const changed = readFiles(paths);
      now = JSON.stringify(changed);
      if (now !== seen || always) await reload(changed);
    } catch (error) {
      if (now === '') now = String(error);
      if (now !== seen || always) reportError(error);
    }
    seen = now;
  }

  return {
    get loaded() {
      return loaded;
    },
    look(always = false) {
      if (waiting !== undefined) {
        waiting.always ||= always;
        return last;
      }
      const own = { always };
      waiting = own;
      // One at a time, so that an older configuration cannot overtake a newer one.
      last = last.then(() => {
        waiting = undefined;
        return lookNow(own.always);
      });
      return last;
    },
  };
}

/** The first fault, and how many there are. */
function errorOf(error: unknown): string {
  if (!(error instanceof ConfigError)) return String(error);
  const [first, ...more] = error.faults.map(showFault);
  return more.length === 0 ? first : `${first} (and ${more.length} more)`;
}

export function sizes({ limits, domains }: Config): Record<string, number> {
  return { limits: limits.size, domains: domains.size };
}
