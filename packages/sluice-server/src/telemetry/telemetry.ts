/**
 * Sends metrics and spans to an OpenTelemetry collector. OpenTelemetry's packages are optional, and only this file imports the
 * code that needs them.
 */
import type { Family } from 'sluice/prometheus';
import type { Log } from '../log.ts';
import type { OtlpOptions } from './metrics/otlp.ts';
import { loadOptional } from '../core/load-optional.ts';
import { createSpanPusher, type PushOptions } from './traces/push.ts';
import { createTracer, type Tracer, type TracerOptions } from './traces/tracer.ts';

const OTLP = '@opentelemetry/sdk-metrics @opentelemetry/exporter-metrics-otlp-http';

/** Where to push spans, and which requests to sample. */
export interface TracesOptions extends PushOptions, TracerOptions {}

export interface TelemetryOptions {
  readonly otlp?: OtlpOptions | undefined;
  readonly traces?: TracesOptions | undefined;
  readonly log: Log;
}

export interface Telemetry {
  readonly tracer: Tracer | undefined;
  /** Starts pushing metrics. Returns a function that pushes the metrics once more and then stops. */
  pushMetrics(families: () => readonly Family[]): () => Promise<void>;
  endSpans(): Promise<void>;
}

const nothing = async (): Promise<void> => {};

export async function openTelemetry({ otlp: metrics, traces, log }: TelemetryOptions): Promise<Telemetry> {
  if (metrics === undefined && traces === undefined)
    return { tracer: undefined, pushMetrics: () => nothing, endSpans: nothing };
  const otlp = await loadOptional(
    'pushing to an OpenTelemetry collector',
    OTLP,
    () => import('./metrics/otlp.ts'),
  );
  const attributes = otlp.ownAttributes();
  const spans = traces && createSpanPusher(traces, attributes, log);
  return {
    tracer: spans && createTracer((span) => spans.add(span), traces),
    pushMetrics: (families) => (metrics ? otlp.pushMetrics(families, log, metrics, attributes) : nothing),
    endSpans: () => spans?.close() ?? nothing(),
  };
}
