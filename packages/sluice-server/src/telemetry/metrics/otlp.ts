/**
 * Pushes the metrics to a collector, by OTLP over HTTP. The same numbers as on /metrics, read when they are sent, so a
 * request pays nothing for them. OpenTelemetry's packages are optional: this file is loaded when it is asked for.
 */
import { type HrTime, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import type { Millis } from 'sluice';
import { otelAttributes } from 'sluice/otel';
import type { Family, Histogram, Sample } from 'sluice/prometheus';
import type { Log } from '../../log.ts';
import { VERSION } from '../../version.ts';

/** Where metrics are pushed to. */
export interface OtlpOptions {
  /** Of the collector, such as `http://localhost:4318`. Default: that of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint?: string | undefined;
  /** Default a minute. */
  readonly every?: Millis | undefined;
}

/** Of our own: the declarations of this package name no other that may be missing. */
type Attributes = Readonly<Record<string, string | number | boolean>>;

/** How long a collector that does not answer may delay the end of the server. */
const PATIENCE: Millis = 2000;

/** How long a push may take, unless the environment says otherwise. */
const USUAL_TIMEOUT: Millis = 10_000;

/** Returns what sends the last numbers and ends it. Never fails: who cannot be told is told next time. */
export function pushMetrics(
  families: () => readonly Family[],
  log: Log,
  { endpoint, every = 60_000 }: OtlpOptions,
  attributes: Attributes,
): () => Promise<void> {
  // The exporter reads the environment by itself: endpoint, headers, timeout, compression, certificates.
  const exporter = new OTLPMetricExporter({
    ...(endpoint !== undefined && { url: `${endpoint.replace(/\/+$/, '')}/v1/metrics` }),
    // It tries again until then. One push is over before the next begins.
    ...(every < USUAL_TIMEOUT && { timeoutMillis: every }),
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: telling(exporter, log),
    exportIntervalMillis: every,
    metricProducers: [producer(families)],
  });
  const provider = new MeterProvider({ resource: resourceFromAttributes(attributes), readers: [reader] });
  return () => provider.shutdown({ timeoutMillis: PATIENCE }).catch(() => {});
}

/** Who sends it: for metrics and spans the same. */
export function ownAttributes(): Attributes {
  const own = resourceFromAttributes({ 'service.name': 'sluice-server', 'service.version': VERSION });
  const detected = detectResources({ detectors: [serviceInstanceIdDetector, envDetector] });
  return defaultResource().merge(own).merge(detected).attributes as Attributes;
}

/** Says in the log when pushing begins to fail, and when it works again. */
function telling(exporter: OTLPMetricExporter, log: Log): PushMetricExporter {
  let isFailing = false;
  return {
    export(metrics, done) {
      exporter.export(metrics, (result) => {
        const failed = result.error !== undefined;
        if (failed && !isFailing) log.warn('metrics cannot be pushed', { error: result.error?.message });
        if (!failed && isFailing) log.info('metrics are pushed again');
        isFailing = failed;
        done(result);
      });
    },
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
  };
}

function producer(families: () => readonly Family[]): MetricProducer {
  const start = time(performance.timeOrigin);
  return {
    async collect() {
      const now = time(Date.now());
      const metrics = families()
        .filter(({ samples }) => samples.length > 0)
        .map((family) => dataOf(family, start, now));
      const scopeMetrics = [{ scope: { name: 'sluice-server', version: VERSION }, metrics }];
      // The reader puts the provider's own resource in its place.
      return { resourceMetrics: { resource: defaultResource(), scopeMetrics }, errors: [] };
    },
  };
}

function dataOf({ name, type, unit, help, samples }: Family, startTime: HrTime, endTime: HrTime): MetricData {
  const descriptor = { name, description: help, unit: unit ?? '', valueType: ValueType.DOUBLE };
  const common = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE };
  const point = <T>({ labels }: Sample, value: T) => ({
    startTime,
    endTime,
    attributes: otelAttributes(labels),
    value,
  });
  if (type === 'histogram') {
    const dataPoints = samples.map((one) => point(one, histogramOf(one.value as Histogram)));
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = samples.map((one) => point(one, one.value as number));
  return type === 'counter'
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}

function histogramOf({ bounds, counts, sum }: Histogram) {
  const count = counts.reduce((all, own) => all + own, 0);
  return { buckets: { boundaries: [...bounds], counts: [...counts] }, sum, count };
}

function time(millis: Millis): HrTime {
  return [Math.floor(millis / 1000), Math.floor((millis % 1000) * 1e6)];
}
