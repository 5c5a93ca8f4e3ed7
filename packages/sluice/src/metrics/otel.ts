/**
 * Metrics and spans of limiters for OpenTelemetry. Counters are kept here and read when they are collected, so that a hit
 * pays for two lookups and not for attributes.
 */
import type { Attributes, BatchObservableCallback, Meter, Tracer } from '@opentelemetry/api';
import type { Hit, Millis } from '../engine/contract.ts';
import type { Observer } from '../wrappers/metered.ts';
import { BOUNDS, type Labels } from './family.ts';
import { tally, type TallyOptions } from './tally.ts';

export interface OtelOptions extends TallyOptions {}

/** An observer that OpenTelemetry reads. */
export interface OtelMetrics extends Required<Observer> {
  /** Nothing is collected from here on. */
  close(): void;
}

/** For `metered`, of one store or of several. */
export function otelMetrics(meter: Meter, options: OtelOptions = {}): OtelMetrics {
  const counted = tally('otelMetrics', options);
  const counters = new Map(
    counted
      .families()
      .map(({ name, help }) => [name, meter.createObservableCounter(name, { description: help })]),
  );
  const duration = meter.createHistogram('sluice.store.duration', {
    description: 'How long the store took. What answers at once is not timed.',
    unit: 's',
    advice: { explicitBucketBoundaries: [...BOUNDS] },
  });
  const collect: BatchObservableCallback = (result) => {
    for (const { name, samples } of counted.families()) {
      const counter = counters.get(name);
      if (counter === undefined) continue;
      for (const { labels, value } of samples)
        result.observe(counter, value as number, otelAttributes(labels));
    }
  };
  const observed = [...counters.values()];
  meter.addBatchObservableCallback(collect, observed);

  return {
    decided(hit, decision, outcome, took) {
      counted.decided(hit, decision, outcome, took);
      if (took !== undefined) duration.record(took / 1000, { 'sluice.limiter': counted.nameOf(hit) });
    },
    failed(hit, error, fault, took) {
      counted.failed(hit, error, fault, took);
      if (took === undefined) return;
      duration.record(took / 1000, { 'sluice.limiter': counted.nameOf(hit), 'error.type': fault });
    },
    close: () => meter.removeBatchObservableCallback(collect, observed),
  };
}

/** Labels by the names they have here. A fault is an error's type, as the conventions have it; the others are ours. */
export function otelAttributes(labels: Labels = {}): Attributes {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [
      name === 'fault' ? 'error.type' : `sluice.${name}`,
      value,
    ]),
  );
}

/** SpanKind.CLIENT and SpanStatusCode.ERROR: only their types are imported. */
const CLIENT = 2;
const ERROR = 2;

/** For `metered`: a span for each hit that a store answered later, within the span that is active where it was asked. */
export function otelSpans(tracer: Tracer): Observer {
  /** It is over already: the span begins in the past and ends now. */
  function record({ verb, plan, cost }: Hit, took: Millis, more: Attributes, failure?: unknown): void {
    const now = Date.now();
    const attributes = { 'sluice.limiter': plan.name, 'sluice.verb': verb, 'sluice.cost': cost, ...more };
    const span = tracer.startSpan(`sluice ${verb}`, { kind: CLIENT, startTime: now - took, attributes });
    if (failure !== undefined) span.setStatus({ code: ERROR, message: messageOf(failure) });
    span.end(now);
  }

  return {
    decided(hit, { policy, source, remaining }, outcome, took) {
      if (took === undefined) return;
      const passed = outcome === undefined ? {} : { 'sluice.outcome': outcome };
      const facts = { 'sluice.policy': policy, 'sluice.source': source, 'sluice.remaining': remaining };
      record(hit, took, { ...facts, ...passed });
    },
    failed(hit, error, fault, took) {
      if (took !== undefined) record(hit, took, { 'error.type': fault }, error);
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
