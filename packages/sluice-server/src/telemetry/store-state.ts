/** Tracks whether the store is available, for metrics and the log. */
import type { BreakerEvent } from 'sluice/redis';
import type { Log } from '../log.ts';
import { type FallbackWatch, watchFallback } from './fallback-watch.ts';
import type { Metrics } from './metrics/metrics.ts';

export interface StoreState {
  /** Is told where each decision came from. */
  readonly fallback: FallbackWatch;
  /** Records that a circuit breaker opened or closed. */
  onEvent(event: BreakerEvent): void;
  /** Records whether a Redis client has established its first connection. */
  onConnection(isConnected: boolean): void;
}

/** `onFailureOf` returns what decides on a limit while the store is unavailable. */
export function trackStore(metrics: Metrics, log: Log, onFailureOf: (limit: string) => string): StoreState {
  /** Nodes whose circuit breaker is open. On a cluster, each node has its own breaker. */
  const openBreakers = new Set<string | undefined>();
  /**
   * False while a Redis client establishes its first connection. A failure after that first connection opens a breaker instead.
   */
  let isConnected = true;
  const isStoreUp = (): boolean => isConnected && openBreakers.size === 0;
  const fallback = watchFallback({ log, isStoreUp, onFailureOf });
  metrics.fallbackActive(() => fallback.isActive);

  return {
    fallback,
    onEvent(event) {
      const { type, node } = event;
      if (type === 'open') openBreakers.add(node);
      else openBreakers.delete(node);
      // A breaker closes only after the store has answered, which proves that the client is connected. The answer may have
      // arrived on another connection than the client's first one.
      isConnected ||= type === 'close';
      metrics.storeUp(isStoreUp());
      const where = node === undefined ? {} : { node };
      if (type === 'open') log.error('the store is not responding', { fault: event.fault, ...where });
      else {
        log.info('the store is responding again', { after: Math.round(event.openFor), ...where });
        fallback.storeIsBack();
      }
    },
    onConnection(connected) {
      isConnected = connected;
      metrics.storeUp(isStoreUp());
      if (connected) fallback.storeIsBack();
    },
  };
}
