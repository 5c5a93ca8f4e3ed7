/**
 * Logs refused and denied requests. The number of lines per second is bounded, so that a flood of requests does not become a flood
 * of lines.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Log } from '../log.ts';

/** Why a request was refused. */
export type RefusalReason = 'unauthorized' | 'forbidden' | 'unknown-limit' | 'invalid';

type Fields = Readonly<Record<string, unknown>>;

/** A take that a limit denied. */
export interface DeniedTake {
  readonly limit: string;
  readonly key: string;
}

export interface RequestLog {
  /** Logs a request that was refused. `describe` is called only if the line is written. */
  refused(reason: RefusalReason, describe: () => Fields): void;
  /** Logs denied takes. Undefined if denials are not logged. Both functions are called only if a line is written. */
  readonly denied: ((takes: () => readonly DeniedTake[], describe: () => Fields) => void) | undefined;
}

/** Maximum number of lines per second for each reason. */
const REFUSALS = 5;
/** Maximum number of characters of a limit or a detail in a line. */
const MAX_SHOWN = 200;

/** `denials` is the maximum number of denials to log per second. */
export function createRequestLog(log: Log, denials = 0): RequestLog {
  const isAllowed = {
    unauthorized: linesPerSecond(REFUSALS),
    forbidden: linesPerSecond(REFUSALS),
    'unknown-limit': linesPerSecond(REFUSALS),
    invalid: linesPerSecond(REFUSALS),
  };
  const nextDenial = linesPerSecond(denials);
  // The secret keeps keys such as addresses from being found by hashing all candidates.
  const secret = randomBytes(32);
  const hashOf = (key: string): string => createHmac('sha256', secret).update(key).digest('hex').slice(0, 16);

  return {
    refused(reason, describe) {
      const suppressed = isAllowed[reason]();
      if (suppressed === undefined) return;
      log.warn('request refused', { reason, ...bounded(describe()), ...shownIf(suppressed) });
    },
    denied:
      denials === 0
        ? undefined
        : (takes, describe) => {
            const suppressed = nextDenial();
            if (suppressed === undefined) return;
            const [first, ...others] = takes();
            if (first === undefined) return;
            log.info('denied', {
              limit: first.limit.slice(0, MAX_SHOWN),
              keyHash: hashOf(first.key),
              ...(others.length > 0 && { others: others.length }),
              ...bounded(describe()),
              ...shownIf(suppressed),
            });
          },
  };
}

/**
 * Returns a function that returns undefined if the line must be dropped. Otherwise, it returns the number of lines that were dropped
 * since the last line.
 */
function linesPerSecond(most: number): () => number | undefined {
  let second = 0;
  let lines = 0;
  let dropped = 0;
  return () => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) {
      second = now;
      lines = 0;
    }
    if (lines >= most) {
      dropped++;
      return undefined;
    }
    lines++;
    const before = dropped;
    dropped = 0;
    return before;
  };
}

function shownIf(suppressed: number): Fields {
  return suppressed > 0 ? { suppressed } : {};
}

function bounded(fields: Fields): Fields {
  const pairs = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === 'string' ? value.slice(0, MAX_SHOWN) : value,
  ]);
  return Object.fromEntries(pairs) as Fields;
}

/** The descriptors of an Envoy request that are over their limit, as takes. */
export function deniedDescriptors(
  domain: string,
  descriptors: readonly { readonly entries: readonly { readonly key: string; readonly value: string }[] }[],
  statuses: readonly { readonly code: string }[],
): DeniedTake[] {
  return descriptors
    .filter((_, i) => statuses[i]?.code === 'OVER_LIMIT')
    .map(({ entries }) => ({
      limit: [domain, ...entries.map(({ key }) => key)].join('.'),
      key: entries.map(({ value }) => value).join('/'),
    }));
}
