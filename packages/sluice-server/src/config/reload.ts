/** Reloads a core's configuration when its files change. An invalid file changes nothing and is reported once. */
import type { Millis } from 'sluice';
import { hashOf } from './config-hash.ts';
import { type ConfigFile, type ConfigOptions, readFiles } from './config.ts';
import { type Config, ConfigError, showFault } from './model.ts';
import { parseInWorker } from './parse-in-worker.ts';
import type { Core } from '../core/core.ts';
import type { Log } from '../log.ts';

/** State of the configuration in use. */
export interface Loaded {
  /** Hash of the configuration in use. Servers with the same limits have the same hash. */
  readonly hash: string;
  /** When the configuration was loaded, in epoch milliseconds. */
  readonly loadedAt: Millis;
  /** Why the current content of the files was rejected. Null if that content is in use. */
  readonly error: string | null;
}

export interface Reloader {
  readonly loaded: Loaded;
  /**
   * Reads the files and loads them if they have changed. With `always`, loads them unconditionally. The promise resolves once the
   * files' content at the time of the call, or newer content, is in use or was found to be invalid. It never rejects.
   */
  check(always?: boolean): Promise<void>;
}

export function createReloader(
  core: Core,
  paths: readonly string[],
  log: Log,
  files: readonly ConfigFile[],
  onChange: () => void = () => {},
  options: ConfigOptions = {},
): Reloader {
  let seen = JSON.stringify(files);
  let loaded: Loaded = { hash: hashOf(core.config), loadedAt: Date.now(), error: null };
  /** The most recently requested check. */
  let last = Promise.resolve();
  /** A check that was requested but has not started yet. Further requests for a check share it until it starts. */
  let waiting: { always: boolean } | undefined;

  async function reload(changed: readonly ConfigFile[]): Promise<void> {
    const { config, hash } = await parseInWorker(changed, options);
    await core.reload(config);
    core.metrics.reloaded(true);
    loaded = { hash, loadedAt: Date.now(), error: null };
    log.info('configuration loaded', { ...sizes(config), hash });
    onChange();
  }

  function reportError(error: unknown): void {
    core.metrics.reloaded(false);
    const faults = error instanceof ConfigError ? error.faults : [{ message: String(error) }];
    for (const { message: fault, ...place } of faults)
      log.error('invalid configuration', { ...place, fault });
    log.warn('keeping the previous configuration');
    loaded = { ...loaded, error: errorOf(error) };
    onChange();
  }

  async function checkNow(always: boolean): Promise<void> {
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
    check(always = false) {
      if (waiting !== undefined) {
        waiting.always ||= always;
        return last;
      }
      const own = { always };
      waiting = own;
      // Checks run one at a time, so that an older configuration cannot replace a newer one.
      last = last.then(() => {
        waiting = undefined;
        return checkNow(own.always);
      });
      return last;
    },
  };
}

/** Describes an error by its first fault and the number of further faults. */
function errorOf(error: unknown): string {
  if (!(error instanceof ConfigError)) return String(error);
  const [first, ...more] = error.faults.map(showFault);
  return more.length === 0 ? first : `${first} (and ${more.length} more)`;
}

export function sizes({ limits, domains }: Config): Record<string, number> {
  return { limits: limits.size, domains: domains.size };
}
