/** Tells whether a fallback answers instead of the store, and logs when that begins and ends. */
import type { Decision, Millis } from 'sluice';
import type { Log } from '../log.ts';

/** Minimum time between two log lines about the same fallback answer, because a slow store may change its state often. */
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

/** What happens to requests without the store, by the answer that `onFailureOf` returns. */
const EFFECTS: Readonly<Record<string, string>> = {
  local: 'this server decides alone, so servers that share the store may together exceed the limit',
  allow: 'all requests are allowed',
  deny: 'all requests are denied',
};

export function watchFallback({ log, isStoreUp, onFailureOf }: FallbackWatchOptions): FallbackWatch {
  let since: Millis | undefined;
  /** When a line about each answer was last logged. Limits may have different answers. */
  const loggedAt = new Map<string, Millis>();
  /** The answers that the log mentions since the store stopped answering. */
  const logged = new Set<string>();

  function report(limit: string): void {
    const now = performance.now();
    since ??= now;
    const onFailure = onFailureOf(limit);
    if (logged.has(onFailure) || now - (loggedAt.get(onFailure) ?? -Infinity) < QUIET) return;
    loggedAt.set(onFailure, now);
    logged.add(onFailure);
    log.warn(`the store does not answer: ${EFFECTS[onFailure] ?? 'a fallback answers'}`, {
      limit,
      onFailure,
    });
  }

  function end(): void {
    if (since === undefined) return;
    const after = Math.round(performance.now() - since);
    since = undefined;
    if (logged.size > 0) log.info('enforcing shared limits again: the store answers', { after });
    logged.clear();
  }

  return {
    get isActive() {
      return since !== undefined;
    },
    decided(limit, source) {
      if (source === 'fallback') report(limit);
      else if (since !== undefined && source === 'store' && isStoreUp()) end();
    },
    storeIsBack() {
      if (isStoreUp()) end();
    },
  };
}
