/** Keeps a core at what its files say. A bad file changes nothing, and is complained of once. */
import type { Millis } from 'sluice';
import { type ConfigFile, parseConfig, readFiles } from './config/config.ts';
import { type Config, ConfigError, showFault } from './config/model.ts';
import type { Core } from './core/core.ts';
import type { Log } from './log.ts';

/** The configuration in use, and what is wrong with a newer one. */
export interface Loaded {
  /** Epoch. */
  readonly loadedAt: Millis;
  readonly error: string | null;
}

export interface Reloader {
  readonly loaded: Loaded;
  /** Looks at the files, and does nothing if they are the same. `always`: loads them all the same. */
  look(always?: boolean): void;
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

  function reload(next: readonly ConfigFile[]): void {
    const config = parseConfig(next);
    core.reload(config);
    core.metrics.reloaded(true);
    log.info('configuration loaded', sizes(config));
    loaded = { loadedAt: Date.now(), error: null };
    onChange();
  }

  function complain(error: unknown): void {
    core.metrics.reloaded(false);
    const faults = error instanceof ConfigError ? error.faults : [{ message: String(error) }];
    for (const { message: fault, ...place } of faults)
      log.error('configuration refused', { ...place, fault });
    log.warn('the last good configuration stays');
    loaded = { ...loaded, error: errorOf(error) };
    onChange();
  }

  return {
    get loaded() {
      return loaded;
    },
    look(always = false) {
      let now = '';
      try {
        const next = readFiles(paths);
        now = JSON.stringify(next);
        if (now !== seen || always) reload(next);
      } catch (error) {
        if (now === '') now = String(error);
        if (now !== seen || always) complain(error);
      }
      seen = now;
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
