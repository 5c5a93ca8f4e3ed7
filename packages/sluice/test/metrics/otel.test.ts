import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span, SpanOptions, TimeInput, Tracer } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createLimiter, memory, metered } from '../../src/index.ts';
import { otelMetrics, otelSpans } from '../../src/metrics/otel.ts';
import { redis } from '../../src/stores/redis/index.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());
/** The deadline is long, so that a busy machine does not cause faults. */
const patient = { deadline: '10s', onFailure: 'throw' } as const;
const offlineClient = { send: () => Promise.reject(new Error('connect ECONNREFUSED')) };

/** The real OpenTelemetry SDK, exporting to memory. */
function sdk(temporality: AggregationTemporality = AggregationTemporality.CUMULATIVE) {
  const exporter = new InMemoryMetricExporter(temporality);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  return {
    meter: provider.getMeter('sluice'),
    provider,
    collect: async (): Promise<Map<string, MetricData>> => {
      exporter.reset();
      await provider.forceFlush();
      const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
      return new Map(metrics.flatMap((one) => one.metrics).map((data) => [data.descriptor.name, data]));
    },
  };
}

function points(data: MetricData | undefined): [object, number][] {
  return ((data?.dataPoints ?? []) as DataPoint<number>[]).map(({ attributes, value }) => [
    attributes,
    value,
  ]);
}

describe('otelMetrics', () => {
  test('counts decisions by limiter, policy and outcome, and reports the counts when OpenTelemetry collects', async () => {
    const { meter, collect, provider } = sdk();
    const store = metered(memory(), otelMetrics(meter));
    const limiter = createLimiter('5/h', { store, name: 'api' });
    for (let i = 0; i < 7; i++) limiter.take('alice');
    const first = await collect();
    expect(first.get('sluice.decisions')).toMatchObject({
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
    });
    const attributes = { 'sluice.limiter': 'api', 'sluice.policy': 'default' };
    expect(points(first.get('sluice.decisions'))).toEqual([
      [{ ...attributes, 'sluice.outcome': 'allowed' }, 5],
      [{ ...attributes, 'sluice.outcome': 'denied' }, 2],
    ]);
    expect(points(first.get('sluice.near_limit'))).toEqual([[attributes, 1]]);
    expect(points(first.get('sluice.answers'))).toContainEqual([{ 'sluice.source': 'store' }, 7]);
    limiter.take('alice');
    expect(points((await collect()).get('sluice.decisions'))).toContainEqual([
      { ...attributes, 'sluice.outcome': 'denied' },
      3,
    ]);
    await provider.shutdown();
  });

  test('supports delta temporality', async () => {
    const { meter, collect, provider } = sdk(AggregationTemporality.DELTA);
    const limiter = createLimiter('5/h', { store: metered(memory(), otelMetrics(meter)), name: 'api' });
    limiter.take('alice', 2);
    limiter.take('alice', 2);
    expect(points((await collect()).get('sluice.decisions'))[0]?.[1]).toBe(2);
    limiter.take('alice');
    expect(points((await collect()).get('sluice.decisions'))[0]?.[1]).toBe(1);
    await provider.shutdown();
  });

  test('records the latency of asynchronous answers, in seconds, in a histogram, and counts faults by kind', async () => {
    const { meter, collect, provider } = sdk();
    const metrics = otelMetrics(meter);
    const name = `otel ${process.pid}`;
    const near = createLimiter('100/h', { store: metered(redis(client, patient), metrics), name });
    for (let i = 0; i < 10; i++) await near.take('alice');
    const far = createLimiter('100/h', {
      store: metered(redis(offlineClient, patient), metrics),
      name: 'far',
    });
    await far.take('alice').catch(() => {});
    const collected = await collect();
    expect(points(collected.get('sluice.store.errors'))).toEqual([[{ 'error.type': 'connection' }, 1]]);
    const duration = collected.get('sluice.store.duration');
    expect(duration?.descriptor.unit).toBe('s');
    const times = duration?.dataPoints as DataPoint<Histogram>[];
    expect(times.map(({ attributes, value }) => [attributes, value.count])).toEqual([
      [{ 'sluice.limiter': name }, 10],
      [{ 'sluice.limiter': 'far', 'error.type': 'connection' }, 1],
    ]);
    expect(times[0]?.value.buckets.boundaries[0]).toBe(0.0001);
    expect(times[0]?.value.sum).toBeLessThan(10);
    await provider.shutdown();
  });

  test('keeps a bounded number of series whatever names occur, and never exposes a key', async () => {
    const { meter, collect, provider } = sdk();
    const store = metered(memory(), otelMetrics(meter, { maxLimiters: 10 }));
    for (let i = 0; i < 100; i++) createLimiter('1/h', { store, name: `limiter ${i}` }).take('203.0.113.7');
    const collected = await collect();
    expect(points(collected.get('sluice.decisions'))).toHaveLength(2 * 11);
    expect(JSON.stringify([...collected])).not.toContain('203.0.113.7');
    await provider.shutdown();
  });

  test('stops reporting when it is closed', async () => {
    const { meter, collect, provider } = sdk();
    const metrics = otelMetrics(meter);
    const limiter = createLimiter('5/h', { store: metered(memory(), metrics) });
    const answered = async () => points((await collect()).get('sluice.answers'))[0]?.[1];
    limiter.take('alice');
    expect(await answered()).toBe(1);
    limiter.take('alice');
    expect(await answered()).toBe(2);
    metrics.close();
    limiter.take('alice');
    expect(await answered()).toBe(2);
    await provider.shutdown();
  });
});

describe('otelSpans', () => {
  const active = new AsyncLocalStorage<string>();
  interface Seen extends SpanOptions {
    name: string;
    parent: string | undefined;
    end?: TimeInput | undefined;
    status?: unknown;
  }

  /** Records spans and the span that is active when they are started. */
  function recording(): { tracer: Tracer; spans: Seen[] } {
    const spans: Seen[] = [];
    const startSpan = (name: string, options: SpanOptions = {}): Span => {
      const seen: Seen = { ...options, name, parent: active.getStore() };
      spans.push(seen);
      const span: Partial<Span> = {
        setStatus(status) {
          seen.status = status;
          return span as Span;
        },
        end(time) {
          seen.end = time;
        },
      };
      return span as Span;
    };
    return { tracer: { startSpan } as Tracer, spans };
  }

  test('records a span for an asynchronous hit, within the active span', async () => {
    const { tracer, spans } = recording();
    const name = `spans ${process.pid}`;
    const limiter = createLimiter('1/h', { store: metered(redis(client, patient), otelSpans(tracer)), name });
    await Promise.all([
      active.run('first', () => limiter.take('alice')),
      active.run('second', () => limiter.take('alice')),
    ]);
    expect(spans.map(({ parent }) => parent)).toEqual(['first', 'second']);
    expect(spans.map(({ attributes }) => attributes?.['sluice.outcome'])).toEqual(['allowed', 'denied']);
    const [{ name: title, kind, attributes, startTime, end } = {} as Seen] = spans;
    expect([title, kind]).toEqual(['sluice take', 2]);
    expect(attributes).toEqual({
      'sluice.limiter': name,
      'sluice.verb': 'take',
      'sluice.cost': 1,
      'sluice.policy': 'default',
      'sluice.source': 'store',
      'sluice.remaining': 0,
      'sluice.outcome': 'allowed',
    });
    expect(Number(end) - Number(startTime)).toBeGreaterThan(0);
    expect(JSON.stringify(spans)).not.toContain('alice');
  });

  test('records a fault as a span with an error', async () => {
    const { tracer, spans } = recording();
    const limiter = createLimiter('1/h', {
      store: metered(redis(offlineClient, patient), otelSpans(tracer)),
      name: 'far',
    });
    await limiter.take('alice').catch(() => {});
    expect(spans).toMatchObject([
      {
        attributes: { 'sluice.limiter': 'far', 'error.type': 'connection' },
        status: { code: 2, message: expect.stringContaining('ECONNREFUSED') as string },
      },
    ]);
  });

  test('records no span for a synchronous answer', () => {
    const { tracer, spans } = recording();
    createLimiter('1/h', { store: metered(memory(), otelSpans(tracer)) }).take('alice');
    expect(spans).toEqual([]);
  });
});
