/** Tells whether a fallback answers instead of the store, and logs when that begins and ends. */
import type { Decision, Millis } from 'sluice';
import type { Log } from '../log.ts';

/** Minimum time between two log lines that say that a fallback answers, because a slow store may change its state often. */
const QUIET: Millis = 10_000;

/** Knows whether a fallback currently answers instead of the store. */
export interface FallbackWatch {
  /** Whether the most recent answers came from a fallback. */
  readonly isActive: boolean;
  /** Records where a decision on a limit came from. */
  decided(limit: string, source: Decision['source']): void;
  /** Records that the store answers again. */
  storeIsBack(): void;
}

export interface FallbackWatchOptions {
  readonly log: Log;
  /** Whether all nodes of the store are available. On a cluster, one node may answer while another one does not. */
  readonly isStoreUp: () => boolean;
  /** What decides on the limit while the store is unavailable: local, allow or deny. */
  readonly onFailureOf: (limit: string) => string;
}

export function watchFallback({ log, isStoreUp, onFailureOf }: FallbackWatchOptions): FallbackWatch {
  let since: Millis | undefined;
  let loggedAt = -Infinity;
  /** Whether the log says that a fallback answers. */
  let isLogged = false;

  function begin(limit: string): void {
    since = performance.now();
    if (since - loggedAt < QUIET) return;
    loggedAt = since;
    isLogged = true;
    log.warn('not enforcing shared limits: a fallback answers instead of the store', {
      limit,
      onFailure: onFailureOf(limit),
    });
  }

  function end(): void {
    if (since === undefined) return;
    const after = Math.round(performance.now() - since);
    since = undefined;
    if (isLogged) log.info('enforcing shared limits again: the store answers', { after });
    isLogged = false;
  }

  return {
    get isActive() {
      return since !== undefined;
    },
    decided(limit, source) {
      if (source === 'fallback') {
        if (since === undefined) begin(limit);
      } else if (since !== undefined && source === 'store' && isStoreUp()) end();
    },
    storeIsBack() {
      if (isStoreUp()) end();
    },
  };
}
