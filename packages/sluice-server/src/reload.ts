/** Keeps a core at what its files say. A bad file changes nothing, and is complained of once. */
import { type ConfigFile, parseConfig, readFiles } from './config/config.ts';
import { type Config, ConfigError } from './config/model.ts';
import type { Core } from './core/core.ts';
import type { Log } from './log.ts';

export interface Reloader {
  /** Looks at the files, and does nothing if they are the same. `always`: loads them all the same. */
  look(always?: boolean): void;
}

export function createReloader(
  core: Core,
  paths: readonly string[],
  log: Log,
  loaded: readonly ConfigFile[],
): Reloader {
  let seen = JSON.stringify(loaded);

  function reload(files: readonly ConfigFile[]): void {
    const config = parseConfig(files);
    core.reload(config);
    core.metrics.reloaded(true);
    log.info('configuration loaded', sizes(config));
  }

  function complain(error: unknown): void {
    core.metrics.reloaded(false);
    const faults = error instanceof ConfigError ? error.faults : [{ message: String(error) }];
    for (const { message: fault, ...place } of faults)
      log.error('configuration refused', { ...place, fault });
    log.warn('the last good configuration stays');
  }

  return {
    look(always = false) {
      let now = '';
      try {
        const files = readFiles(paths);
        now = JSON.stringify(files);
        if (now !== seen || always) reload(files);
      } catch (error) {
        if (now === '') now = String(error);
        if (now !== seen || always) complain(error);
      }
      seen = now;
    },
  };
}

export function sizes({ limits, domains }: Config): Record<string, number> {
  return { limits: limits.size, domains: domains.size };
}
