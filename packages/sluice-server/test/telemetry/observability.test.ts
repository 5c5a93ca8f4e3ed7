/** Metrics of a running server, as Prometheus reads them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { certificates } from '../listeners/listeners.ts';
import { serving, temporaryFile, temporaryFolder } from '../serving.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };

const LIMITS = `
limits: { login: 1/h, search: 10/s }
domain: edge
descriptors:
  - key: path
    value: /login
    rate_limit: { unit: minute, requests_per_unit: 5 }
  - key: user
    detailed_metric: true
    rate_limit: { unit: minute, requests_per_unit: 5 }
`;

/** The value of a series in the text format of Prometheus. */
function seriesValue(text: string, series: string): number {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  if (line === undefined) throw new Error(`there is no series ${series}`);
  return Number(line.slice(series.length + 1));
}

describe('the metrics of a server', () => {
  test('pass the checks of promtool, before and after requests', async () => {
    const listeners = { http: { address: LOCAL }, grpc: { address: LOCAL }, resp: { address: LOCAL } };
    const server = await serving(LIMITS, { listeners, metrics: { topKeys: 5 } });
    const check = (input: string) => {
      const { stdout, stderr, status } = spawnSync('promtool', ['check', 'metrics'], {
        input,
        encoding: 'utf8',
      });
      return { printed: stdout + stderr, status };
    };
    expect(check(server.core.metrics.text())).toEqual({ printed: '', status: 0 });
    for (let i = 0; i < 3; i++) await server.post('/v1/take', { limit: 'login', key: 'alice' });
    await server.post('/v1/take', { limit: 'missing', key: 'alice' });
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(seriesValue(text, 'sluice_top_denied{limit="login",key="alice"}')).toBe(2);
    expect(check(text)).toEqual({ printed: '', status: 0 });
  });

  test('contain each counter of each configured limit from the start, and of new limits after a reload', async () => {
    const file = temporaryFile(LIMITS);
    const server = await serving('', { config: [file] });
    const text = server.core.metrics.text();
    for (const limit of ['login', 'search', 'edge.path_/login']) {
      for (const outcome of ['allowed', 'denied', 'shadowed'])
        expect(seriesValue(text, `sluice_decisions_total{limit="${limit}",outcome="${outcome}"}`)).toBe(0);
      expect(seriesValue(text, `sluice_near_limit_total{limit="${limit}"}`)).toBe(0);
    }
    // The label of this rule contains values of requests.
    expect(text).not.toContain('edge.user');
    expect(seriesValue(text, 'sluice_store_errors_total{fault="deadline"}')).toBe(0);
    expect(seriesValue(text, 'sluice_requests_total{listener="http",route="/v1/take",code="200"}')).toBe(0);
    expect(text).not.toContain('limit="cl.throttle"');
    expect(seriesValue(text, 'sluice_evictions_total')).toBe(0);
    const hash = /sluice_config_info\{hash="(\w+)"\} 1/.exec(text)?.[1];
    writeFileSync(file, 'limits: { signup: 1/h }');
    await server.reload();
    const next = server.core.metrics.text();
    expect(seriesValue(next, 'sluice_decisions_total{limit="signup",outcome="denied"}')).toBe(0);
    expect(seriesValue(next, 'sluice_config_last_reload_successful')).toBe(1);
    expect(next).toMatch(/sluice_config_info\{hash="\w+"\} 1/);
    expect(next).not.toContain(`hash="${hash}"`);
  });

  test('contain a counter for each route and status from the start, and the number of counters is bounded', async () => {
    const local = { address: { host: '127.0.0.1', port: 0 } };
    const server = await serving(LIMITS, {
      listeners: { http: local, grpc: local, resp: local },
      remote: true,
      requestPolicies: 1,
    });
    const text = server.core.metrics.text();
    for (const [listener, route, code] of [
      ['http', '/v1/take', '503'],
      ['http', '/v1/take', '401'],
      ['http', '/v1/refund', '404'],
      ['http', '/v1/take-many', '413'],
      ['http', '/v1/forward-auth', '400'],
      ['http', '/v1/hits', '503'],
      ['http', '/json', '429'],
      ['http', '/v1/limits', '403'],
      ['http', '/readyz', '503'],
      ['http', 'none', '404'],
      ['grpc', 'ShouldRateLimit', 'UNAVAILABLE'],
      ['grpc', 'ShouldRateLimit', 'UNAUTHENTICATED'],
      ['resp', 'throttle', 'error'],
      ['resp', 'unknown', 'error'],
    ])
      expect(
        seriesValue(text, `sluice_requests_total{listener="${listener}",route="${route}",code="${code}"}`),
      ).toBe(0);
    for (const limit of ['cl.throttle', 'policies'])
      expect(seriesValue(text, `sluice_decisions_total{limit="${limit}",outcome="denied"}`)).toBe(0);
    expect(text.match(/^sluice_requests_total\{/gm)?.length).toBeLessThan(300);
    // No request was answered yet.
    expect(text.match(/^sluice_requests_total\{.* [1-9]/m)).toBeNull();
    expect(seriesValue(text, 'sluice_request_duration_seconds_count{listener="http"}')).toBe(0);
  });

  test('count only routes and statuses whose counters existed from the start', async () => {
    const server = await serving(LIMITS, { adminTokens: () => ['boss'] });
    const declared = new Set(server.core.metrics.text().match(/^sluice_requests_total\{[^}]*\}/gm));
    const take = { limit: 'login', key: 'alice' };
    for (const body of [take, take, {}, { limit: 'none', key: 'a' }, 'x'.repeat(2 ** 21)])
      for (const path of [
        '/v1/take?status=429',
        '/v1/take-many?status=429',
        '/v1/reset',
        '/v1/hits',
        '/json',
      ])
        await server.post(path, body);
    for (const path of ['forward-auth?limit=login&key=alice', 'forward-auth?limit=login', 'limits', 'none'])
      await fetch(`${server.url}/v1/${path}`);
    const answered = server.core.metrics.text().match(/^sluice_requests_total\{[^}]*\}/gm) ?? [];
    expect(answered.filter((series) => !declared.has(series))).toEqual([]);
  });

  test('contain no key unless --top-keys asks for keys', async () => {
    const server = await serving(LIMITS);
    for (let i = 0; i < 3; i++) await server.post('/v1/take', { limit: 'login', key: 'alice' });
    expect(server.core.metrics.text()).not.toContain('alice');
    expect(server.core.metrics.topDenied()).toMatchObject([{ limit: 'login', name: 'alice', count: 2 }]);
  });

  test('count open connections of each listener', async () => {
    const listeners = { http: { address: LOCAL }, grpc: { address: LOCAL }, resp: { address: LOCAL } };
    const server = await serving(LIMITS, { listeners });
    const open = (listener: string) =>
      seriesValue(server.core.metrics.text(), `sluice_connections{listener="${listener}"}`);
    for (const name of ['http', 'grpc', 'resp'] as const) {
      expect(open(name)).toBe(0);
      const sockets = [1, 2].map(() => connect(server.addresses[name]?.port ?? 0, '127.0.0.1'));
      await expect.poll(() => open(name)).toBe(2);
      for (const socket of sockets) socket.destroy();
      await expect.poll(() => open(name)).toBe(0);
    }
  });

  test('count keys that the memory store evicts before they are fully replenished', async () => {
    const server = await serving('limits: { daily: 2/d }', { store: { url: 'memory', maxKeys: 10 } });
    for (let i = 0; i < 15; i++) await server.core.take('daily', `key ${i}`);
    expect(seriesValue(server.core.metrics.text(), 'sluice_evictions_total')).toBe(5);
  });

  test('show the mode of the server', async () => {
    const modes = (text: string) =>
      ['enforce', 'shadow'].map((mode) => seriesValue(text, `sluice_mode{mode="${mode}"}`));
    expect(modes((await serving(LIMITS)).core.metrics.text())).toEqual([1, 0]);
    expect(modes((await serving(LIMITS, { shadow: true })).core.metrics.text())).toEqual([0, 1]);
  });

  test('show CPU time and how long the event loop was blocked', async () => {
    const server = await serving(LIMITS);
    const read = (name: string) => seriesValue(server.core.metrics.text(), name);
    const before = read('process_cpu_seconds_total');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const end = performance.now() + 300;
    while (performance.now() < end);
    await expect.poll(() => read('sluice_event_loop_lag_seconds')).toBeGreaterThan(0.2);
    expect(read('sluice_event_loop_lag_seconds')).toBeLessThan(10);
    expect(read('process_cpu_seconds_total')).toBeGreaterThan(before);
  });

  test('show when the certificates expire, also after they are replaced', async () => {
    const folder = temporaryFolder();
    mkdirSync(folder, { recursive: true });
    const { cert, key } = certificates();
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(files.cert, cert);
    writeFileSync(files.key, key);
    const server = await serving(LIMITS, { tls: files });
    const expiry = () =>
      seriesValue(server.core.metrics.text(), 'sluice_certificate_expiry_timestamp_seconds{listener="http"}');
    const inDays = (expiry() - Date.now() / 1000) / 86_400;
    expect(inDays).toBeGreaterThan(1.9);
    expect(inDays).toBeLessThan(2.1);
    const first = expiry();
    // A new certificate expires later than the first one, which was issued at least a second ago.
    await expect.poll(() => Date.now() / 1000 - (first - 2 * 86_400), { timeout: 5000 }).toBeGreaterThan(1);
    const next = certificates();
    writeFileSync(files.cert, next.cert);
    writeFileSync(files.key, next.key);
    await server.reload();
    expect(expiry()).toBeGreaterThan(first);
  });
});
