import { type AddressInfo, createServer as createSilent } from 'node:net';
import { createServer as createSecureServer } from 'node:https';
import { expect, onTestFinished, test, vi } from 'vitest';
import { unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { readArgs } from '../../src/cli/args.ts';
import { refusal } from '../../src/listeners/resp/answer.ts';
import type { Command, Session } from '../../src/listeners/resp/command.ts';
import { spanRecorder } from '../../src/listeners/resp/trace.ts';
import { createLog } from '../../src/log.ts';
import type { ServerOptions } from '../../src/server-options.ts';
import { tracesOf, TELEMETRY_FLAGS } from '../../src/cli/telemetry-flags.ts';
import { createSpanPusher } from '../../src/telemetry/traces/push.ts';
import { createTracer, type Span } from '../../src/telemetry/traces/tracer.ts';
import { type Attribute, attributesOf, type Collector, collector, type Received } from './collector.ts';
import { certificates, command, talk } from '../listeners/listeners.ts';
import { clientOf, RATE_LIMIT } from '../listeners/grpc/client.ts';
import { run, serving, type Serving, started, take, temporaryFile } from '../serving.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const SAMPLED = `00-${TRACE}-${PARENT}-01`;
const UNSAMPLED = `00-${TRACE}-${PARENT}-00`;

const LIMITS = `
limits: { api: 1/h }
domain: edge
descriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: 1 } }]
`;

interface Shown {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attribute[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface Body {
  readonly resourceSpans: {
    readonly resource: { readonly attributes: Attribute[] };
    readonly scopeSpans: { readonly spans: Shown[] }[];
  }[];
}

function spansOf({ received }: Collector): Shown[] {
  return received
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) => (body as Body).resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

const LOCAL = { address: { host: '127.0.0.1', port: 0 } };

async function tracing(
  traces: Partial<NonNullable<ServerOptions['traces']>>,
  more: Partial<ServerOptions> = {},
): Promise<{ found: Collector; server: Serving }> {
  const found = await collector();
  const server = await serving(LIMITS, {
    traces: { url: `${found.url}/v1/traces`, every: 20, ...traces },
    listeners: { http: LOCAL, grpc: LOCAL, resp: LOCAL },
    ...more,
  });
  return { found, server };
}

const soon = { timeout: 10_000, interval: 10 };

test("a sampled traceparent puts the span into the caller's trace, and a traceparent that is not sampled gives no span", async () => {
  const { found, server } = await tracing({ share: 1 });
  const ask = (traceparent: string) =>
    server.post('/v1/take', { limit: 'api', key: 'alice' }, { traceparent });
  const before = Date.now();
  await ask(UNSAMPLED);
  await ask(SAMPLED);
  await server.drain({ timeout: 0 });
  const [span, ...others] = spansOf(found) as [Shown];
  expect(others).toEqual([]);
  expect(span).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    name: 'POST /v1/take',
    kind: 2,
    status: {},
  });
  expect(span.spanId).toMatch(/^[\da-f]{16}$/);
  expect(attributesOf(span.attributes)).toEqual({
    'sluice.listener': 'http',
    'http.request.method': 'POST',
    'http.route': '/v1/take',
    'http.response.status_code': 200,
    'sluice.limit': 'api',
    'sluice.outcome': 'denied',
  });
  const [start, end] = [span.startTimeUnixNano, span.endTimeUnixNano].map((nanos) => Number(nanos) / 1e6);
  expect(start).toBeGreaterThan(before - 50);
  expect(end).toBeGreaterThan(start);
  expect(end).toBeLessThan(Date.now() + 50);
  const [first] = found.received as [Received];
  const { resourceSpans } = first.body as Body;
  expect(attributesOf(resourceSpans[0]?.resource.attributes ?? [])).toMatchObject({
    'service.name': 'sluice-server',
  });
});

test('requests without a valid traceparent are sampled at the configured rate', async () => {
  const none = await tracing({ share: 0 });
  const all = await tracing({ share: 1 });
  const malformed = [
    'nonsense',
    `ff-${TRACE}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${PARENT}-01-more`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  ];
  for (const { server } of [none, all]) {
    await take(server.url, 'api', 'alice');
    for (const traceparent of malformed)
      await server.post('/v1/peek', { limit: 'api', key: 'a' }, { traceparent });
    await server.drain({ timeout: 0 });
  }
  expect(spansOf(none.found)).toEqual([]);
  const spans = spansOf(all.found);
  expect(spans.map(({ parentSpanId }) => parentSpanId)).toEqual(Array(7).fill(undefined));
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(7);
  expect(spans.every(({ traceId }) => /^[\da-f]{32}$/.test(traceId) && traceId !== TRACE)).toBe(true);
});

test('the known fields of a later traceparent version are used', () => {
  const tracer = createTracer(() => {}, { share: 0 });
  const context = tracer.contextOf(`01-${TRACE}-${PARENT}-03-more`);
  expect(context).toMatchObject({ traceId: TRACE, parentId: PARENT });
});

test('the measured sampling rate is close to the configured rate', () => {
  const tracer = createTracer(() => {}, { share: 0.25 });
  const sampled = Array.from({ length: 20_000 }, () => tracer.contextOf(undefined)).filter(Boolean);
  expect(sampled.length).toBeGreaterThan(4500);
  expect(sampled.length).toBeLessThan(5500);
});

test('gRPC reads traceparent from the metadata, and records spans even for rejected calls', async () => {
  const { found, server } = await tracing({ share: 0 });
  const client = clientOf(server.addresses.grpc?.port as number, RATE_LIMIT);
  const operation = { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'alice' }] }] };
  const ask = (request: object, traceparent: string): Promise<unknown> =>
    client.call('ShouldRateLimit', request, { traceparent }).catch(() => {});
  for (const traceparent of [SAMPLED, UNSAMPLED, SAMPLED]) await ask(operation, traceparent);
  await ask({ ...operation, domain: '' }, SAMPLED);
  await server.drain({ timeout: 0 });
  const spans = spansOf(found);
  expect(spans.map(({ attributes }) => attributesOf(attributes)['sluice.outcome'])).toEqual([
    'allowed',
    'denied',
    undefined,
  ]);
  expect(spans[0]).toMatchObject({
    traceId: TRACE,
    parentSpanId: PARENT,
    name: 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
  });
  expect(attributesOf(spans[0]?.attributes ?? [])).toEqual({
    'sluice.listener': 'grpc',
    'rpc.system': 'grpc',
    'rpc.service': 'envoy.service.ratelimit.v3.RateLimitService',
    'rpc.method': 'ShouldRateLimit',
    'rpc.grpc.status_code': 0,
    'sluice.limit': 'edge',
    'sluice.count': 1,
    'sluice.outcome': 'allowed',
  });
  // A client error is not a failure of the server, so the status of the span is unset.
  expect([attributesOf(spans[2]?.attributes ?? [])['rpc.grpc.status_code'], spans[2]?.status]).toEqual([
    3,
    {},
  ]);
});

test('RESP commands that check a limit are sampled at the configured rate, and other commands are never sampled', async () => {
  const { found, server } = await tracing({ share: 1 });
  const words = [
    ['PING'],
    ['THROTTLE', 'alice', 'api'],
    ['THROTTLE', 'alice', 'api'],
    ['cl.throttle', 'bob', '0', '1', '60'],
    ['THROTTLE', 'alice', 'gone'],
  ];
  await talk(server.addresses.resp?.port as number, words.map((each) => command(...each)).join(''));
  await server.drain({ timeout: 0 });
  const told = spansOf(found).map(({ name, attributes, status }) => {
    const { 'sluice.limit': limit, 'sluice.outcome': outcome, ...rest } = attributesOf(attributes);
    return [name, limit, outcome, rest['db.response.status_code'], status];
  });
  expect(told).toEqual([
    ['THROTTLE', 'api', 'allowed', 'OK', {}],
    ['THROTTLE', 'api', 'denied', 'OK', {}],
    ['CL.THROTTLE', 'cl.throttle', 'allowed', 'OK', {}],
    ['THROTTLE', undefined, undefined, 'ERR', {}],
  ]);
});

test('an unavailable store is recorded as an error in the spans of all listeners', async () => {
  const { found, server } = await tracing(
    { share: 1 },
    { store: { url: 'redis://127.0.0.1:1', deadline: '50ms', onFailure: 'throw' } },
  );
  const { grpc, resp } = server.addresses;
  await server.post('/v1/take', { limit: 'api', key: 'alice' });
  await clientOf(grpc?.port as number, RATE_LIMIT)
    .call('ShouldRateLimit', { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: 'a' }] }] })
    .catch(() => {});
  await talk(resp?.port as number, command('THROTTLE', 'alice', 'api'));
  await server.drain({ timeout: 0 });
  const failed = spansOf(found).map(({ attributes, status: { code, message } }) => [
    attributesOf(attributes)['sluice.listener'],
    code,
    message?.slice(0, 11),
  ]);
  expect(failed).toEqual([
    ['http', 2, 'status 503'],
    ['grpc', 2, 'UNAVAILABLE'],
    ['resp', 2, 'UNAVAILABLE'],
  ]);
});

test('an internal server error is recorded as an error in the span of a RESP command', () => {
  const spans: Span[] = [];
  const tracer = createTracer((span) => spans.push(span), { share: 1 });
  const log = createLog(() => {});
  const command = { hasKey: true } as Command;
  const record = spanRecorder(tracer, command, ['THROTTLE', 'k', 'api'], performance.now());
  record?.(refusal(new TypeError('broken'), 'throttle', { log }, {} as Session));
  expect(spans.map(({ error }) => error)).toEqual(['ERR internal server error']);
});

test('spans contain keys only if this is configured, and long text is truncated', async () => {
  const told = async (keys: boolean): Promise<string> => {
    const { found, server } = await tracing({ share: 1, keys });
    const key = `alice${'x'.repeat(500)}`;
    await server.post('/v1/take', { limit: 'api', key });
    await server.post('/json', { domain: 'edge', descriptors: [{ entries: [{ key: 'user', value: key }] }] });
    await clientOf(server.addresses.grpc?.port as number, RATE_LIMIT).call('ShouldRateLimit', {
      domain: 'edge',
      descriptors: [{ entries: [{ key: 'user', value: key }] }],
    });
    await talk(server.addresses.resp?.port as number, command('THROTTLE', key, 'api'));
    await server.drain({ timeout: 0 });
    const spans = spansOf(found);
    expect(spans).toHaveLength(4);
    const texts = spans.flatMap(({ attributes }) => Object.values(attributesOf(attributes)).map(String));
    expect(Math.max(...texts.map(({ length }) => length))).toBeLessThanOrEqual(200);
    return JSON.stringify(spans);
  };
  expect(await told(false)).not.toContain('alice');
  expect((await told(true)).match(/"sluice\.key","value":\{"stringValue":"(user=)?alice/g)).toHaveLength(4);
});

test('requests that do not check a limit have no span', async () => {
  const { found, server } = await tracing({ share: 1 });
  for (const path of ['/healthcheck', '/metrics', '/v1/limits', '/rlconfig']) await fetch(server.url + path);
  await server.post('/v1/peek', [
    { limit: 'api', key: 'a' },
    { limit: 'api', key: 'b' },
  ]);
  await server.drain({ timeout: 0 });
  const spans = spansOf(found);
  expect(spans.map(({ name }) => name)).toEqual(['POST /v1/peek']);
  expect(attributesOf(spans[0]?.attributes ?? [])).toMatchObject({ 'sluice.count': 2 });
});

const span: Span = {
  traceId: TRACE,
  parentId: undefined,
  spanId: PARENT,
  name: 'POST /v1/take',
  start: 1,
  end: 2,
  attributes: {},
  error: undefined,
};

test('spans are sent in batches, and the queue is bounded', async () => {
  const found = await collector();
  const pusher = createSpanPusher(
    { url: `${found.url}/v1/traces`, every: 60_000 },
    {},
    createLog(() => {}),
  );
  for (let i = 0; i < 10_000; i++) pusher.add(span);
  await pusher.close();
  const sizes = found.received.map(
    ({ body }) => (body as Body).resourceSpans[0]?.scopeSpans[0]?.spans.length,
  );
  expect(sizes).toEqual([512, 512, 512, 512, 512]);
});

test('a batch that fills up while another batch is being sent is sent right after the other batch', async () => {
  const found = await collector();
  const pusher = createSpanPusher(
    { url: `${found.url}/v1/traces`, every: 60_000 },
    {},
    createLog(() => {}),
  );
  for (let i = 0; i < 1024; i++) pusher.add(span);
  await vi.waitFor(() => expect(spansOf(found)).toHaveLength(1024), soon);
  await pusher.close();
});

test('a collector whose certificate was issued by a private CA is trusted if that CA is configured', async () => {
  const { ca, cert, key } = certificates();
  let heard = 0;
  const server = createSecureServer({ cert, key }, (request, response) => {
    heard++;
    request.resume().on('end', () => response.end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
  for (const certificate of [undefined, temporaryFile(ca, 'ca.pem')]) {
    const pusher = createSpanPusher(
      { url, certificate },
      {},
      createLog(() => {}),
    );
    pusher.add(span);
    await pusher.close();
    expect(heard).toBe(certificate === undefined ? 0 : 1);
  }
});

test('the shutdown waits only briefly for a collector that never answers', async () => {
  const silent = createSilent();
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/v1/traces`;
  const lines: string[] = [];
  const pusher = createSpanPusher(
    { url, every: 10 },
    {},
    createLog((line) => lines.push(line)),
  );
  pusher.add(span);
  await new Promise((resolve) => setTimeout(resolve, 50));
  pusher.add(span);
  const start = performance.now();
  const late = unpunctuality();
  await pusher.close();
  expect(performance.now() - start - late.total()).toBeLessThan(3500);
  late.stop();
});

test('a message is logged once when a collector rejects spans, and once when it accepts them again', async () => {
  const { found, server } = await tracing({ share: 1 });
  const said = (words: string) => server.lines.filter((line) => line.includes(words));
  found.status = 404;
  await vi.waitFor(async () => {
    expect((await take(server.url, 'api', 'alice')).remaining).toBe(0);
    expect(spansOf(found).length).toBeGreaterThan(3);
  }, soon);
  expect(said('cannot push spans')).toHaveLength(1);
  expect(said('the collector responded with status 404')).toHaveLength(1);
  found.status = 200;
  await take(server.url, 'api', 'alice');
  await vi.waitFor(() => expect(said('pushing spans works again')).toHaveLength(1), soon);
});

test('sluice serve sends spans along with metrics, including the last spans at shutdown', async () => {
  const found = await collector();
  const file = temporaryFile(LIMITS);
  const server = await started('--config', file, '--otlp-endpoint', found.url, '--trace-share', '1');
  await take(server.url, 'api', 'alice');
  server.process.kill('SIGTERM');
  expect(await server.gone).toBe(0);
  expect(spansOf(found).map(({ name }) => name)).toEqual(['POST /v1/take']);
  const instances = found.received.map(({ body }) => {
    const [one] = Object.values(body as Record<string, Body['resourceSpans']>)[0] ?? [];
    return attributesOf(one?.resource.attributes ?? [])['service.instance.id'];
  });
  expect(new Set(instances).size).toBe(1);
});

test("flags and OpenTelemetry's environment variables determine whether, where and how often spans are sent", async () => {
  const given = (argv: string[], env: Record<string, string> = {}) =>
    tracesOf(readArgs(argv, TELEMETRY_FLAGS, env), env);
  expect(given([])).toBeUndefined();
  expect(given(['--otlp-endpoint', 'http://a:4318/'])?.url).toBe('http://a:4318/v1/traces');
  expect(given([], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://b:4318' })?.url).toBe('http://b:4318/v1/traces');
  expect(given([], { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://b:4318' })).toBeUndefined();
  const env = {
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c/spans',
    OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'api-key=s%20t, b=%',
    OTEL_EXPORTER_OTLP_TIMEOUT: '300',
    OTEL_BSP_SCHEDULE_DELAY: '40',
    SLUICE_TRACE_SHARE: '0.5',
    SLUICE_TRACE_KEYS: 'true',
  };
  expect(given([], env)).toEqual({
    url: 'https://c/spans',
    headers: { 'api-key': 's t', b: '%' },
    timeout: 300,
    certificate: undefined,
    every: 40,
    share: 0.5,
    keys: true,
  });
  expect(given([], { ...env, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined();
  expect(given([], { ...env, OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  for (const share of ['2', '-0.1', 'much'])
    expect(() => given([`--trace-share=${share}`])).toThrow('--trace-share must be a number from 0 to 1');
});

test('an invalid --trace-share is rejected at startup', async () => {
  const { gone, output } = run('serve', '--config', temporaryFile(LIMITS), '--trace-share', '7');
  expect(await gone).toBe(2);
  expect(output()).toContain('--trace-share must be a number from 0 to 1; got 7');
});
