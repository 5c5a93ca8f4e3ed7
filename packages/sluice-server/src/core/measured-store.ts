/** Measures a store, and keeps the fast path of a store that answers synchronously. */
import { metered, type Store } from 'sluice';
import type { FallbackWatch } from '../telemetry/fallback-watch.ts';
import type { Metrics } from '../telemetry/metrics/metrics.ts';

/** Wraps a store so that the metrics record its failures and the duration of its asynchronous answers. */
export function measuredStore(store: Store, metrics: Metrics, fallback?: FallbackWatch): Store {
  const measured = metered(store, {
    decided({ plan }, decision, _outcome, took) {
      if (took === undefined) return;
      metrics.stored(took, decision);
      fallback?.decided(plan.name, decision.source);
    },
    failed(_hit, _error, fault) {
      metrics.failed(fault);
    },
  });
  // Only stores in this process have a fast path. They answer synchronously, so there is no time to measure.
  return { ...measured, taker: (plan) => store.taker?.(plan) };
}
