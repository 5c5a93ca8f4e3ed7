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
