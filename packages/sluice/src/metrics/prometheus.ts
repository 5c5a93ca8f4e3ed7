/** Metrics of limiters in Prometheus' text format, without its client. */
import type { Observer } from '../wrappers/metered.ts';
import { exposition, type Family, Histogram } from './family.ts';
import { tally, type TallyOptions } from './tally.ts';

export { EXPOSITION_TYPE, exposition, type Family, Histogram, type Labels, type Sample } from './family.ts';

export interface PrometheusOptions extends TallyOptions {}

/** An observer that tells Prometheus. */
export interface PrometheusMetrics extends Required<Observer> {
  /** The same as numbers, for a format of your own. */
  families(): Family[];
  /** What a scrape answers, with the content type EXPOSITION_TYPE. */
  text(): string;
}

/** For `metered`, of one store or of several. */
export function prometheusMetrics(options: PrometheusOptions = {}): PrometheusMetrics {
  const counted = tally('prometheusMetrics', options);
  const times = new Map<string, Histogram>();

  function families(): Family[] {
    const samples = [...times].map(([limiter, value]) => ({ labels: { limiter }, value }));
    const duration: Family = {
      name: 'sluice.store.duration',
      type: 'histogram',
      unit: 's',
      help: 'How long the store took. What answers at once is not timed.',
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
