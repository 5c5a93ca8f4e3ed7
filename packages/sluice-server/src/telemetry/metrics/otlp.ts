/**
 * Pushes the metrics of /metrics to a collector, with OTLP over HTTP. The metrics are read only when they are sent, so pushing
 * adds no cost to requests. OpenTelemetry's packages are optional, so import this file only when it is needed.
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

/** Where and how often to push metrics. */
export interface OtlpOptions {
  /** URL of the collector, such as `http://localhost:4318`. Default: OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint?: string | undefined;
  /** Interval between pushes. Default one minute. */
  readonly every?: Millis | undefined;
}

/** Declared here, because our type declarations must not refer to a package that may not be installed. */
type Attributes = Readonly<Record<string, string | number | boolean>>;

/** How long a collector that does not answer may delay the shutdown. */
const PATIENCE: Millis = 2000;

/** The exporter's default timeout for a push. */
const USUAL_TIMEOUT: Millis = 10_000;

/**
 * Starts pushing metrics. Returns a function that pushes the metrics once more and then stops. A failed push is logged; the next
 * push sends the same counters again.
 */
export function pushMetrics(
  families: () => readonly Family[],
  log: Log,
  { endpoint, every = 60_000 }: OtlpOptions,
  attributes: Attributes,
): () => Promise<void> {
  // The exporter itself reads OpenTelemetry's environment variables for endpoint, headers, timeout, compression and certificates.
  const exporter = new OTLPMetricExporter({
    ...(endpoint !== undefined && { url: `${endpoint.replace(/\/+$/, '')}/v1/metrics` }),
    // The exporter retries until the timeout, and a push must end before the next push starts.
    ...(every < USUAL_TIMEOUT && { timeoutMillis: every }),
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: withLogging(exporter, log),
    exportIntervalMillis: every,
    metricProducers: [producer(families)],
  });
  const provider = new MeterProvider({ resource: resourceFromAttributes(attributes), readers: [reader] });
  return () => provider.shutdown({ timeoutMillis: PATIENCE }).catch(() => {});
}

/** Attributes that identify this server, for metrics and spans. */
export function ownAttributes(): Attributes {
  const own = resourceFromAttributes({ 'service.name': 'sluice-server', 'service.version': VERSION });
  const detected = detectResources({ detectors: [serviceInstanceIdDetector, envDetector] });
  return defaultResource().merge(own).merge(detected).attributes as Attributes;
}

/** Logs when pushing starts to fail, and when it works again. */
function withLogging(exporter: OTLPMetricExporter, log: Log): PushMetricExporter {
  let isFailing = false;
  return {
    export(metrics, done) {
      exporter.export(metrics, (result) => {
        const failed = result.error !== undefined;
        if (failed && !isFailing) log.warn('cannot push metrics', { error: result.error?.message });
        if (!failed && isFailing) log.info('pushing metrics works again');
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
      // The reader replaces this with the provider's resource.
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
