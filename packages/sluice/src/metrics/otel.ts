/**
 * OpenTelemetry metrics and spans for limiters. Counters are plain numbers that are read when OpenTelemetry collects them, so a
 * hit costs two lookups and creates no attributes.
 */
import type { Attributes, BatchObservableCallback, Meter, Tracer } from '@opentelemetry/api';
import type { Hit, Millis } from '../engine/contract.ts';
import type { Observer } from '../wrappers/metered.ts';
import { BOUNDS, type Labels } from './family.ts';
import { tally, type TallyOptions } from './tally.ts';

/** The options of `otelMetrics`. */
export interface OtelOptions extends TallyOptions {}

/** An observer whose counts OpenTelemetry collects. */
export interface OtelMetrics extends Required<Observer> {
  /** Stops the collection. */
  close(): void;
}

/** Creates an observer for `metered` that reports to OpenTelemetry. It may observe several stores. */
export function otelMetrics(meter: Meter, options: OtelOptions = {}): OtelMetrics {
  const counted = tally('otelMetrics', options);
  const counters = new Map(
    counted
      .families()
      .map(({ name, help }) => [name, meter.createObservableCounter(name, { description: help })]),
  );
  const duration = meter.createHistogram('sluice.store.duration', {
    description: 'Time the store took to answer. Synchronous answers are not timed.',
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

/**
 * Converts labels to OpenTelemetry attributes. A fault becomes `error.type`, as the semantic conventions require. Other labels get
 * the prefix `sluice.`.
 */
export function otelAttributes(labels: Labels = {}): Attributes {
  return Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [
      name === 'fault' ? 'error.type' : `sluice.${name}`,
      value,
    ]),
  );
}

/**
 * The values of SpanKind.CLIENT and SpanStatusCode.ERROR. They are copied here, because only OpenTelemetry's types are imported.
 */
const CLIENT = 2;
const ERROR = 2;

/**
 * Creates an observer for `metered` that records a span for each asynchronous hit, within the span that was active when the hit
 * was sent.
 */
export function otelSpans(tracer: Tracer): Observer {
  /** Records a hit that is already over, with a span that starts in the past and ends now. */
  function record({ verb, plan, cost }: Hit, took: Millis, more: Attributes, failure?: unknown): void {
    const now = Date.now();
    const costs = typeof cost === 'number' ? cost : [...cost];
    const attributes = { 'sluice.limiter': plan.name, 'sluice.verb': verb, 'sluice.cost': costs, ...more };
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
