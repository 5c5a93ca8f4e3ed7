/** Tests that GET /live has the format defined in packages/playground/LIVE.md, and that its streams and its memory are bounded. */
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { writeFileSync } from 'node:fs';
import { expect, inject, onTestFinished, test } from 'vitest';
import { reading } from 'sluice-test-support/docs/reading.ts';
import { punctually, unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { createMetrics } from '../../../src/telemetry/metrics/metrics.ts';
import { quantilesBetween, LatencyBuckets } from '../../../src/telemetry/metrics/latency-buckets.ts';
import { listen } from './live-stream.ts';
import { type Serving, serving, started, temporaryFile } from '../../serving.ts';

const block = reading('packages/playground/LIVE.md');
const configShown = JSON.parse(block('json', '"version"')) as Record<string, unknown>;
const snapshotShown = JSON.parse(block('json', '"topDenied"')) as Record<string, unknown>;

const rightsShown = JSON.parse(block('json', '"admin"')) as Record<string, unknown>;
const historyShown = JSON.parse(block('json', '"every"')) as Record<string, unknown>;

/** The history with only the first period of each list of counts, because the number of periods depends on the age of the server. */
function firstOf({ all, limits }: Record<string, unknown>): object {
  type Shown = Record<'allowed' | 'denied' | 'shadowed', number[]>;
  const short = (series: Shown) => ({
    ...series,
    allowed: series.allowed.slice(0, 1),
    denied: series.denied.slice(0, 1),
    shadowed: series.shadowed.slice(0, 1),
  });
  return { all: short(all as Shown), limits: (limits as Shown[]).map(short) };
}

const LIMITS = `
limits:
  api: 10/h
  soft: { policies: 2/h, shadow: true }
domain: edge
descriptors:
  - key: ip
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: open
    rate_limit: { unlimited: true }
`;

const NO_HISTORY = { past: () => ({ at: 0, every: 1, span: 1, all: NO_SERIES, limits: [] }) };
const NO_SERIES = { allowed: [], denied: [], shadowed: [] };

/** Runs a test that must finish within one second, between two snapshots. */
const within = <T>(run: () => Promise<T>) => punctually(100, run);

function takes(server: Serving, limit: string, key: string, times: number): Promise<unknown> {
  return server.post(
    '/v1/take',
    Array.from({ length: times }, () => ({ limit, key })),
  );
}

test('a stream starts with the configuration, then reports the counts of each second', () =>
  within(async () => {
    const server = await serving(LIMITS);
    const stream = await listen(server.url);
    const config = await stream.next('config');
    expect(config).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+/),
      source: expect.stringContaining('limits.yaml'),
      error: null,
      limits: [
        { name: 'api', policies: '10/h', shadow: false },
        { name: 'soft', policies: '2/h', shadow: true },
        { name: 'edge.ip', policies: '2 per hour', shadow: false, descriptor: true },
        { name: 'edge.open', policies: 'unlimited', shadow: false, descriptor: true },
      ],
    });
    expect(Math.abs(Number(config['loadedAt']) - Date.now())).toBeLessThan(20_000);
    expect(Number(config['startedAt'])).toBeLessThanOrEqual(Number(config['loadedAt']));

    await takes(server, 'api', 'ann', 13);
    await takes(server, 'soft', 'ben', 5);
    await server.post('/json', { domain: 'edge', descriptors: [{ entries: [{ key: 'ip', value: '1' }] }] });
    const first = await stream.next('snapshot');
    expect(first).toMatchObject({
      limits: [
        // The ninth and the tenth take use more than 80 % of the limit of ten.
        { name: 'api', allowed: 10, denied: 3, near: 2, shadowed: 0 },
        { name: 'soft', allowed: 2, denied: 0, near: 1, shadowed: 3 },
        { name: 'edge.ip', allowed: 1, denied: 0, near: 0, shadowed: 0 },
      ],
      topDenied: [
        { limit: 'api', key: 'ann', denied: 3 },
        { limit: 'soft', key: 'ben', denied: 3 },
      ],
      store: { kind: 'memory', up: true, breaker: 'closed', p99: null, faults: 0, fallbacks: 0 },
    });
    expect(Number(first['span'])).toBeGreaterThan(100);
    expect(Math.abs(Number(first['at']) - Date.now())).toBeLessThan(2000);
    const { p50, p99, max } = first['latency'] as Record<string, number>;
    expect(0 < p50 && p50 <= p99 && p99 <= max && max < 1000).toBe(true);

    // The server sends a snapshot even if nothing happened.
    const second = await stream.next('snapshot');
    expect(second).toMatchObject({ limits: [], latency: null });
    expect(Number(second['span'])).toBeGreaterThan(900);
  }));

test('a stream starts with the history of each limit, up to its first snapshot', () =>
  within(async () => {
    const server = await serving(LIMITS);
    await takes(server, 'api', 'ann', 13);
    const stream = await listen(server.url);
    const { at, span, every, all, limits } = await stream.next('history');
    expect(Math.abs(Number(at) - Date.now())).toBeLessThan(2000);
    expect([Number(span) < 10_000, every]).toEqual([true, 10_000]);
    expect({ all, limits }).toEqual({
      all: { allowed: [10], denied: [3], shadowed: [0] },
      limits: [{ name: 'api', allowed: [10], denied: [3], shadowed: [0] }],
    });
    await takes(server, 'api', 'ben', 4);
    expect(await stream.next('snapshot')).toMatchObject({ limits: [{ name: 'api', allowed: 4, denied: 0 }] });
  }));

test('a server in shadow mode reports this mode in the log and for each limit, and counts shadowed takes in the history', () =>
  within(async () => {
    const server = await serving(LIMITS, { shadow: true });
    expect(server.lines.join('')).toContain('"level":"warn","message":"shadow mode: ');
    await takes(server, 'api', 'ann', 13);
    const stream = await listen(server.url);
    const config = await stream.next('config');
    expect(config).toMatchObject({ shadow: true });
    const limits = (await (await fetch(`${server.url}/v1/limits`)).json()) as object[];
    for (const limit of [...limits, ...(config['limits'] as object[])])
      expect(limit).toMatchObject({ shadow: true });
    expect(await (await fetch(`${server.url}/rlconfig`)).text()).not.toContain('shadow_mode: false');
    const series = { allowed: [10], denied: [0], shadowed: [3] };
    expect(await stream.next('history')).toMatchObject({ all: series, limits: [{ name: 'api', ...series }] });
  }));

test('a stream says whether its client may reset keys', async () => {
  const rightsWith = async (options: Parameters<typeof serving>[1], headers = {}) =>
    (await listen((await serving(LIMITS, options)).url, headers)).next('rights');
  expect(await rightsWith({})).toEqual({ admin: false });
  expect(await rightsWith({ adminWithoutToken: true })).toEqual({ admin: true });
  // A proxy forwards the request, so the client may be on any machine.
  expect(await rightsWith({ adminWithoutToken: true }, { 'x-forwarded-for': '192.0.2.1' })).toEqual({
    admin: false,
  });
  const adminTokens = () => ['admin'];
  expect(await rightsWith({ adminTokens })).toEqual({ admin: false });
  expect(await rightsWith({ adminTokens }, { authorization: 'Bearer wrong' })).toEqual({ admin: false });
  expect(await rightsWith({ adminTokens }, { authorization: 'Bearer admin' })).toEqual({ admin: true });
});

/** The structure of a value: the name and type of every member. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value;
  if (Array.isArray(value)) return value.map(shapeOf);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]));
}

test('the sample data of the page has the same members as the data of a real server', () =>
  within(async () => {
    const descriptors = '[{ key: remote_address, rate_limit: { unit: second, requests_per_unit: 10 } }]';
    const limits = `limits: { api: 10/s burst 20 }\ndomain: edge\ndescriptors: ${descriptors}`;
    const url = `redis://127.0.0.1:${inject('redisPort')}`;
    const server = await serving(limits, { store: { url, deadline: '10s' } });
    const stream = await listen(server.url);
    const config = await stream.next('config');
    expect(shapeOf(config)).toEqual(shapeOf(configShown));
    expect(config['limits']).toEqual(configShown['limits']);
    expect(shapeOf(await stream.next('rights'))).toEqual(shapeOf(rightsShown));
    await takes(server, 'api', '203.0.113.9', 50);
    const history = await (await listen(server.url)).next('history');
    expect(shapeOf({ ...history, ...firstOf(history) })).toEqual(
      shapeOf({ ...historyShown, ...firstOf(historyShown) }),
    );
    const snapshot = await stream.next('snapshot');
    expect(shapeOf(snapshot)).toEqual(shapeOf(snapshotShown));
    expect(snapshot['store']).toMatchObject({ kind: 'redis', up: true, breaker: 'closed' });
  }));

test('streams that start at different times each report only the period since they started', () =>
  within(async () => {
    const server = await serving(LIMITS);
    const early = await listen(server.url);
    await takes(server, 'api', 'ann', 4);
    const late = await listen(server.url);
    await takes(server, 'api', 'ann', 1);
    const [one, two] = await Promise.all([early.next('snapshot'), late.next('snapshot')]);
    expect(one['limits']).toMatchObject([{ allowed: 5 }]);
    expect(two['limits']).toMatchObject([{ allowed: 1 }]);
    expect(Number(two['span'])).toBeLessThan(Number(one['span']));
  }));

test('a stream reports a changed or invalid configuration immediately', async () => {
  const file = temporaryFile('limits: { a: 1/h }');
  const server = await serving('', { config: [file] });
  const stream = await listen(server.url);
  const { loadedAt } = await stream.next('config');
  writeFileSync(file, 'limits:\n  a: 1/brust\n  b: 2/brust');
  await server.reload();
  expect(await stream.next('config')).toMatchObject({
    loadedAt,
    error: expect.stringMatching(/limits\.yaml:2:6: .*brust.* \(and 1 more\)$/),
    limits: [{ name: 'a', policies: '1/h' }],
  });
  writeFileSync(file, 'limits: { b: 2/h }');
  await server.reload();
  expect(await stream.next('config')).toMatchObject({ error: null, limits: [{ name: 'b' }] });
});

test('the stream requires a token of the listener or the admin token, and rejects other origins', async () => {
  const tokens = () => ['client'];
  const adminTokens = () => ['admin'];
  const http = { address: { host: '127.0.0.1', port: 0 }, tokens };
  const { url } = await serving(LIMITS, { listeners: { http }, adminTokens });
  expect((await fetch(`${url}/live`)).status).toBe(401);
  for (const token of ['client', 'admin']) {
    const stream = await listen(url, { authorization: `Bearer ${token}` });
    expect(await stream.next('config')).toHaveProperty('version');
  }
  const foreign = await fetch(`${url}/live`, {
    headers: { authorization: 'Bearer client', origin: 'https://evil.example' },
  });
  expect(foreign.status).toBe(403);
});

test('the 65th stream is rejected until another stream is closed', async () => {
  const { url } = await serving(LIMITS);
  const streams = await Promise.all(Array.from({ length: 64 }, () => listen(url)));
  const refused = await fetch(`${url}/live`);
  expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([
    503,
    'maximum number of streams (64) reached',
  ]);
  streams[0]?.close();
  await expect.poll(async () => (await fetch(`${url}/live`, { method: 'HEAD' })).status).toBe(200);
});

test('a draining server ends the streams and rejects new ones', async () => {
  const server = await started('--config', temporaryFile('limits: { a: 1/h }'), '--drain-delay', '300');
  const stream = await listen(server.url);
  await stream.next('config');
  const start = performance.now();
  const late = unpunctuality();
  server.process.kill('SIGTERM');
  await stream.ended;
  expect(await server.gone).toBe(0);
  // The streams end well before the server closes the remaining connections, which it does after ten seconds.
  expect(performance.now() - start - late.total()).toBeLessThan(5000);
  late.stop();
});

test('nothing is written to a stream after its end, even if a slow reader is still connected', async () => {
  const { createLive } = await import('../../../src/listeners/http/live.ts');
  let version = 0;
  const config = (): object => ({ version: ++version });
  const live = createLive({
    metrics: createMetrics(),
    history: NO_HISTORY,
    storeKind: 'memory',
    config,
    every: 2,
  });
  const said: string[] = [];
  live.reply(false).stream?.({
    writableNeedDrain: false,
    write: (piece: string) => said.push(piece),
    end: () => said.push('end'),
    on() {},
  } as never);
  await expect.poll(() => said.length).toBeGreaterThan(2);
  live.close();
  live.configChanged();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(said.indexOf('end')).toBe(said.length - 1);
  expect(() => live.reply(false)).toThrow('shutting down');
});

test('a reader that stalls uses little memory, and later gets one snapshot for the whole time of the stall', async () => {
  const { createLive } = await import('../../../src/listeners/http/live.ts');
  const { createServer } = await import('node:http');
  const metrics = createMetrics();
  // With 1500 limits, a snapshot is about 100 kB.
  const decide = (): void => {
    for (let i = 0; i < 1500; i++)
      metrics.decided(`limit-${String(i).padStart(60, '0')}`, 'key', { ...ALLOWED }, false);
  };
  const live = createLive({
    metrics,
    history: NO_HISTORY,
    storeKind: 'memory',
    config: () => ({}),
    every: 5,
  });
  let waiting = (): number => 0;
  const server = createServer((_, response) => {
    response.writeHead(200);
    waiting = () => response.writableLength;
    live.reply(false).stream?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    live.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as { port: number };
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('latin1');
  let text = '';
  socket.on('data', (piece) => {
    text += String(piece);
  });
  socket.once('data', () => socket.pause());
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await once(server, 'request');
  let decided = 0;
  let most = 0;
  const stuck = performance.now() + 10_000;
  while (performance.now() < stuck) {
    decide();
    decided++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    most = Math.max(most, waiting());
    // By now the socket's own buffers are full, but the server has not disconnected the reader yet.
    if (waiting() > 100_000) break;
  }
  for (let i = 0; i < 10; i++) {
    decide();
    decided++;
    await new Promise((resolve) => setTimeout(resolve, 5));
    most = Math.max(most, waiting());
  }
  // At most two snapshots are in memory: the buffered snapshot, and a part of the previous one.
  expect(most).toBeLessThan(600_000);
  expect(most).toBeGreaterThan(100_000);
  const allowed = (): number =>
    [...text.matchAll(/"name":"limit-0+1","allowed":(\d+)/g)].reduce(
      (sum, [, count]) => sum + Number(count),
      0,
    );
  socket.resume();
  // The snapshots cover all takes except those before the first snapshot.
  await expect.poll(allowed, { timeout: 10_000 }).toBeGreaterThan(decided - 8);
  expect(allowed()).toBeLessThanOrEqual(decided);
});

const ALLOWED = {
  allowed: true,
  taken: 1,
  limit: 10,
  remaining: 9,
  retryAfter: 0,
  resetAfter: 0,
  policy: 'default',
  policies: [],
  source: 'store',
} as const;

test('a reader that misses more than thirty snapshots is disconnected', async () => {
  const { createLive } = await import('../../../src/listeners/http/live.ts');
  const metrics = createMetrics();
  const live = createLive({
    metrics,
    history: NO_HISTORY,
    storeKind: 'memory',
    config: () => ({}),
    every: 2,
  });
  let isGone = false;
  const written: string[] = [];
  live.reply(false).stream?.({
    writableNeedDrain: true,
    write: (piece: string) => written.push(piece),
    destroy() {
      isGone = true;
    },
    on() {},
  } as never);
  await expect.poll(() => isGone).toBe(true);
  // The stream's first events are its configuration, rights and history. No snapshot follows.
  expect(written).toHaveLength(3);
});

test('latency quantiles of the period between two snapshots exceed the exact values by at most an eighth', () => {
  const spread = new LatencyBuckets();
  for (let i = 0; i < 500; i++) spread.observe(900);
  const before = spread.copy();
  expect(quantilesBetween(before, spread.copy())).toBeUndefined();
  for (let i = 1; i <= 1000; i++) spread.observe(i / 100);
  const { p50 = 0, p99 = 0, max = 0 } = quantilesBetween(before, spread.copy()) ?? {};
  for (const [got, exact] of [
    [p50, 5],
    [p99, 9.9],
    [max, 10],
  ] as const) {
    expect(got).toBeGreaterThanOrEqual(exact);
    expect(got).toBeLessThanOrEqual(exact * 1.13);
  }
  for (const odd of [0, -1, 1e-9, 1e12]) spread.observe(odd);
  expect(quantilesBetween(before, spread.copy())?.max).toBeGreaterThan(100_000);
});

test('a HEAD request for the stream ends immediately', async () => {
  const { url } = await serving(LIMITS);
  const status = await new Promise((resolve) => {
    request(`${url}/live`, { method: 'HEAD' }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    }).end();
  });
  expect(status).toBe(200);
});

test('the duration of a stream is not counted as the duration of a request', async () => {
  const { url } = await serving(LIMITS);
  const stream = await listen(url);
  await stream.next('config');
  stream.close();
  expect(await (await fetch(`${url}/metrics`)).text()).not.toMatch(/route="\/live".* [1-9]/);
});
