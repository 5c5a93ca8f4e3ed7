/** Exports metrics of limiters in Prometheus's text format, without the Prometheus client library. */
import type { Observer } from '../wrappers/metered.ts';
import { exposition, type Family, Histogram } from './family.ts';
import { tally, type TallyOptions } from './tally.ts';

export { EXPOSITION_TYPE, exposition, type Family, Histogram, type Labels, type Sample } from './family.ts';

/** The options of `prometheusMetrics`. */
export interface PrometheusOptions extends TallyOptions {}

/** An observer whose counts can be scraped by Prometheus. */
export interface PrometheusMetrics extends Required<Observer> {
  /** Returns the metrics as data, for other formats. */
  families(): Family[];
  /** Returns the body of the response to a scrape. Its content type is `EXPOSITION_TYPE`. */
  text(): string;
}

/** Creates an observer for `metered` that keeps metrics for Prometheus. It may observe several stores. */
export function prometheusMetrics(options: PrometheusOptions = {}): PrometheusMetrics {
  const counted = tally('prometheusMetrics', options);
  const times = new Map<string, Histogram>();

  function families(): Family[] {
    const samples = [...times].map(([limiter, value]) => ({ labels: { limiter }, value }));
    const duration: Family = {
      name: 'sluice.store.duration',
      type: 'histogram',
      unit: 's',
      help: 'Time the store took to answer. Synchronous answers are not timed.',
      samples,
    };
    return [...counted.families(), duration];
  }

  return {
    decided(hit, decision, outcome, took) {
      counted.decided(hit, decision, outcome, took);
      if (took === undefined) return;
      const name = counted.nameOf(hit);
      const time = times.get(name) ?? new Histogram();
      times.set(name, time);
      time.observe(took / 1000);
    },
    failed: counted.failed,
    families,
    text: () => exposition(families()),
  };
}
