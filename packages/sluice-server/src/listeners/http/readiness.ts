/** Answers /livez and /readyz, on the probe listener and on the HTTP listener. */
import type { MaybePromise } from 'sluice';
import { type Reply, text } from './reply.ts';

/** What /readyz reports. */
export interface Readiness {
  /** Returns whether all listeners accept connections, and the server is not draining. */
  readonly isHealthy: () => boolean;
  /** Returns whether the store answers. */
  readonly isStoreReady: () => Promise<boolean>;
}

/** Answers a request whose URL has this text after '?'. */
export type Probe = (query: string) => MaybePromise<Reply>;

const OK: Reply = text('ok\n');
const NOT_READY: Reply = text('not ready\n', 503);

/** The probes by their path. */
export function probesOf({ isHealthy, isStoreReady }: Readiness): ReadonlyMap<string, Probe> {
  /** Checks the store only with the query `store`, because a server whose fallback answers is still useful. */
  async function checkStore(query: string): Promise<Reply> {
    if (!new URLSearchParams(query).has('store')) return OK;
    return (await isStoreReady()) ? OK : text('the store does not answer\n', 503);
  }
  return new Map<string, Probe>([
    ['/livez', () => OK],
    ['/readyz', (query) => (isHealthy() ? checkStore(query) : NOT_READY)],
  ]);
}
