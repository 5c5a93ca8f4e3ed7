import type { IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createServer as createSilent } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { scrape } from 'sluice-test-support/metrics/scrape.ts';
import { freePort } from 'sluice-test-support/redis/server.ts';
import { unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { type Collector, collector, type Received } from './collector.ts';
import { run, serving, started, take, temporaryFile } from '../serving.ts';

interface Point {
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[];
  readonly startTimeUnixNano: string;
  readonly timeUnixNano: string;
  readonly asDouble?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly bucketCounts?: number[];
  readonly explicitBounds?: number[];
}

interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly sum?: { isMonotonic: boolean; aggregationTemporality: number; dataPoints: Point[] };
  readonly gauge?: { dataPoints: Point[] };
  readonly histogram?: { aggregationTemporality: number; dataPoints: Point[] };
}

interface Push {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly resource: Record<string, string>;
  readonly metrics: Map<string, Metric>;
}

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A collector that shows only the metrics that it received, because spans are pushed to the same collector. */
async function metricsCollector(
  port = 0,
): Promise<Pick<Collector, 'url' | 'port' | 'close'> & { pushes: Push[] }> {
  const { url, port: own, received, close } = await collector(port);
  return {
    url,
    port: own,
    close,
    get pushes() {
      return received.filter(({ path }) => !path.endsWith('/v1/traces')).map(read);
    },
  };
}

function read({ path, headers, body }: Received): Push {
  interface Body {
    resourceMetrics: { resource: Pick<Point, 'attributes'>; scopeMetrics: { metrics: Metric[] }[] }[];
  }
  const [one] = (body as Body).resourceMetrics;
  if (one === undefined) throw new Error('no resource');
  const metrics = one.scopeMetrics.flatMap((scope) => scope.metrics);
  return {
    path,
    headers,
    resource: labelsOf(one.resource),
    metrics: new Map(metrics.map((metric) => [metric.name, metric])),
  };
}

function labelsOf({ attributes }: Pick<Point, 'attributes'>): Record<string, string> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]));
}

function decisions(push: Push | undefined): Record<string, number> {
  const points = push?.metrics.get('sluice.decisions')?.sum?.dataPoints ?? [];
  return Object.fromEntries(
    points.map((point) => {
      const labels = labelsOf(point);
      return [`${labels['sluice.limit']} ${labels['sluice.outcome']}`, point.asDouble ?? NaN];
    }),
  );
}

const soon = { timeout: 10_000, interval: 10 };

test('a collector gets the same metrics that /metrics serves, and a final update when the server stops', async () => {
  const found = await metricsCollector();
  const server = await serving('limits: { api: 2/h }', { otlp: { endpoint: `${found.url}/`, every: 100 } });
  for (let i = 0; i < 3; i++) await take(server.url, 'api', 'alice');
  await vi.waitFor(
    () => expect(decisions(found.pushes.at(-1))).toMatchObject({ 'api allowed': 2, 'api denied': 1 }),
    soon,
  );
  await take(server.url, 'api', 'alice');
  const scraped = scrape(await (await fetch(`${server.url}/metrics`)).text());
  await server.drain({ timeout: 0 });
  const last = found.pushes.at(-1) as Push;

  expect(last.path).toBe('/v1/metrics');
  expect(last.headers['content-type']).toBe('application/json');
  expect(last.resource).toMatchObject({ 'service.name': 'sluice-server' });
  expect(last.resource['service.instance.id']).toMatch(/^[\da-f-]{36}$/);
  expect(decisions(last)).toEqual({ 'api allowed': 2, 'api denied': 2, 'api shadowed': 0 });
  const decided = last.metrics.get('sluice.decisions')?.sum;
  expect(decided).toMatchObject({ isMonotonic: true, aggregationTemporality: 2 });

  const time = last.metrics.get('sluice.request.duration');
  const [point] = time?.histogram?.dataPoints ?? [];
  expect([time?.unit, point && labelsOf(point)]).toEqual(['s', { 'sluice.listener': 'http' }]);
  expect(point?.bucketCounts?.reduce((all, count) => all + count, 0)).toBe(point?.count);
  expect(point?.bucketCounts).toHaveLength((point?.explicitBounds?.length ?? 0) + 1);
  expect(point?.count).toBeGreaterThanOrEqual(4);
  expect(point?.sum).toBeLessThan(10);
  expect(BigInt(point?.startTimeUnixNano ?? 0)).toBeLessThan(BigInt(point?.timeUnixNano ?? 0));
  expect(last.metrics.get('sluice.store.up')?.gauge?.dataPoints[0]?.asDouble).toBe(1);

  // A collector converts these names to the ones on /metrics.
  const suffix = { s: '_seconds', By: '_bytes', '': '' } as Record<string, string>;
  const names = [...last.metrics.values()].map(
    ({ name, unit, sum }) => name.replaceAll('.', '_') + suffix[unit] + (sum === undefined ? '' : '_total'),
  );
  const filled = [...scraped].filter(([, { samples }]) => samples.size > 0).map(([name]) => name);
  expect(names.sort()).toEqual(filled.sort());
});

test('an unreachable collector is logged once and does not affect responses', async () => {
  // The collector needs a port that no other process takes while the collector is stopped.
  const gone = await metricsCollector(await freePort());
  await gone.close();
  const server = await serving('limits: { api: 1000/h }', { otlp: { endpoint: gone.url, every: 50 } });
  const said = (words: string) => server.lines.filter((line) => line.includes(words)).length;
  await vi.waitFor(() => expect(said('cannot push metrics')).toBe(1), soon);
  expect((await take(server.url, 'api', 'alice')).allowed).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(said('cannot push metrics')).toBe(1);
  const back = await metricsCollector(gone.port);
  await vi.waitFor(() => expect(said('pushing metrics works again')).toBe(1), soon);
  await vi.waitFor(() => expect(decisions(back.pushes.at(-1))).toMatchObject({ 'api allowed': 1 }), soon);
});

test('sluice serve pushes metrics to --otlp-endpoint, and once more at shutdown', async () => {
  const found = await metricsCollector();
  const file = temporaryFile('limits: { api: 2/h }');
  const server = await started('--config', file, '--otlp-endpoint', found.url);
  await take(server.url, 'api', 'alice');
  server.process.kill('SIGTERM');
  expect(await server.gone).toBe(0);
  expect(decisions(found.pushes.at(-1))).toMatchObject({ 'api allowed': 1 });
});

test('a collector that never answers does not prevent the shutdown', async () => {
  const silent = createSilent();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  closing.push(() => silent.close());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const server = await started('--config', temporaryFile('limits: { api: 2/h }'), '--otlp-endpoint', url);
  const start = performance.now();
  const late = unpunctuality();
  server.process.kill('SIGTERM');
  expect(await server.gone).toBe(0);
  expect(performance.now() - start - late.total()).toBeLessThan(8000);
  late.stop();
  expect(server.output()).toContain('"message":"drained"');
});

test("OpenTelemetry's environment variables set the endpoint, the interval, the headers and the service name", async () => {
  const found = await metricsCollector();
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', found.url);
  vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'api-key=secret');
  vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', '50');
  vi.stubEnv('OTEL_SERVICE_NAME', 'edge-limits');
  closing.push(() => vi.unstubAllEnvs());
  await started('--config', temporaryFile('limits: { api: 2/h }'));
  await vi.waitFor(() => expect(found.pushes.length).toBeGreaterThan(1), soon);
  expect(found.pushes[0]?.path).toBe('/v1/metrics');
  expect(found.pushes[0]?.headers['api-key']).toBe('secret');
  expect(found.pushes[0]?.resource['service.name']).toBe('edge-limits');
});

test('an invalid endpoint is rejected at startup', async () => {
  const file = temporaryFile('limits: { api: 2/h }');
  const { gone, output } = run('serve', '--config', file, '--otlp-endpoint', 'localhost:4318');
  expect(await gone).toBe(2);
  expect(output()).toContain(
    '--otlp-endpoint must be a URL such as http://localhost:4318; got localhost:4318',
  );
});
