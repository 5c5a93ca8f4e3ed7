/** Checks the dashboard and the alert rules of deploy/monitoring against the metrics of real servers. */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { redisServer } from 'sluice-test-support/redis/server.ts';
import { expect, inject, test } from 'vitest';
import { root } from '../../../test-support/src/packed.ts';
import { type Serving, serving, temporaryFile, temporaryFolder } from '../serving.ts';
import { firing, RULES, type Scrape } from './promtool.ts';

const LIMITS = 'limits: { api: 5/h }';
const redisUrl = `redis://127.0.0.1:${inject('redisPort')}`;

async function scrape({ url }: Serving): Promise<Scrape> {
  return { text: await (await fetch(`${url}/metrics`)).text(), at: Date.now() };
}

const take = ({ post }: Serving, key = 'x') => post('/v1/take', { limit: 'api', key });

/** Creates a certificate that is valid for a number of days. */
function certificate(days: number): { cert: string; key: string } {
  const cwd = temporaryFolder();
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=localhost'];
  const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-days', String(days)];
  execFileSync('openssl', ['req', '-x509', ...ec, ...files], { cwd, stdio: 'pipe' });
  return { cert: join(cwd, 'cert.pem'), key: join(cwd, 'key.pem') };
}

/** Scrapes the probe listener of a server whose HTTP listener uses TLS. */
async function scrapeWithTls(days: number): Promise<Scrape> {
  const probe = { host: '127.0.0.1', port: 0 };
  const server = await serving(LIMITS, { tls: certificate(days), probe });
  return scrape({ ...server, url: `http://127.0.0.1:${server.probeAddress?.port}` });
}

test('the generated files are up to date, and promtool accepts the rules', () => {
  execFileSync(process.execPath, [join(root, 'deploy/monitoring/generate.mjs'), '--check'], {
    stdio: 'pipe',
  });
  execFileSync('promtool', ['check', 'rules', RULES], { stdio: 'pipe' });
});

test('promtool accepts the expression of each panel of the dashboard', () => {
  const { panels } = JSON.parse(readFileSync(join(root, 'deploy/monitoring/dashboard.json'), 'utf8')) as {
    panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  };
  const rules = panels.flatMap(({ targets }, panel) =>
    // Grafana replaces the variable before it sends the query.
    targets.map(({ expr }, i) => ({
      record: `panel:${panel}:${i}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    })),
  );
  expect(rules.length).toBeGreaterThanOrEqual(panels.length);
  const check = (all: typeof rules) => {
    const file = temporaryFile(JSON.stringify({ groups: [{ name: 'panels', rules: all }] }));
    return spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
  };
  expect(check(rules)).toMatchObject({ status: 0, stdout: expect.stringContaining(`${rules.length} rules`) });
  expect(check([{ record: 'a', expr: 'rate(b[5m]' }]).status).not.toBe(0);
});

test('the dashboard and the rules use only metrics that the server exports', async () => {
  const onRedis = await serving(LIMITS, { store: { url: redisUrl, deadline: '10s' } });
  await take(onRedis);
  const scrapes = [await scrape(onRedis), await scrapeWithTls(365)];
  const exported = new Set(scrapes.flatMap(({ text }) => text.match(/^[a-z]\w+/gm) ?? []));
  const used = ['alerts.yaml', 'dashboard.json'].flatMap((name) => {
    const text = readFileSync(join(root, 'deploy/monitoring', name), 'utf8');
    return text.match(/\b(sluice|process)_\w+/g) ?? [];
  });
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !exported.has(name))).toEqual([]);
});

// The lag of a healthy server depends on how busy the machine is.
const withoutLag = (names: string[]): string[] => names.filter((name) => name !== 'SluiceEventLoopLag');

test('no alert fires for a healthy server', async () => {
  const server = await serving(LIMITS);
  const scrapes = [await scrape(server)];
  for (let i = 0; i < 10; i++) {
    for (let key = 0; key < 3; key++) await take(server, `key ${key}`);
    if (i < 5) scrapes.push(await scrape(server));
  }
  expect(withoutLag(firing([scrapes, [await scrapeWithTls(365)]], 30))).toEqual([]);
});

test('alerts fire when the store is down and a fallback answers', async () => {
  const redis = await redisServer();
  const server = await serving(LIMITS, {
    store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '50ms' },
  });
  await take(server);
  await redis.stop();
  const isDown = async () => {
    await take(server);
    return (await scrape(server)).text.includes('\nsluice_store_up 0\n');
  };
  await expect.poll(isDown).toBe(true);
  const alerts = withoutLag(firing([[await scrape(server)]], 5));
  expect(alerts).toEqual(['SluiceStoreDown', 'SluiceFallbackActive']);
});

test('an alert fires when Prometheus cannot scrape a server', async () => {
  const server = await serving(LIMITS);
  /** Adds the series that Prometheus creates for each server of the job sluice. */
  const asPrometheus = async (): Promise<Scrape> => {
    try {
      const { text, at } = await scrape(server);
      return { text: `${text}up{job="sluice"} 1\n`, at };
    } catch {
      return { text: 'up{job="sluice"} 0\n', at: Date.now() };
    }
  };
  const before = await asPrometheus();
  expect(withoutLag(firing([[before]], 5))).toEqual([]);
  await server.drain();
  expect(withoutLag(firing([[before, await asPrometheus()]], 5))).toEqual(['SluiceTargetDown']);
});

test('alerts fire when the store does not permit the commands of the server, so requests fail', async () => {
  const redis = await redisServer();
  const server = await serving(LIMITS, {
    store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '10s' },
  });
  let status = 200;
  await take(server);
  const control = new Redis(redis.port);
  await control.call('ACL', 'SETUSER', 'default', '-@scripting');
  const scrapes = [await scrape(server)];
  for (let i = 0; i < 15; i++) {
    ({ status } = await take(server));
    scrapes.push(await scrape(server));
  }
  expect(status).toBe(503);
  expect(withoutLag(firing([scrapes], 14))).toEqual(['SluiceStoreErrors', 'SluiceServerErrors']);
  control.disconnect();
  await redis.stop();
});

test('an alert fires when the memory store evicts keys', async () => {
  const server = await serving(LIMITS, { store: { url: 'memory', maxKeys: 10 } });
  const scrapes = [await scrape(server)];
  for (let i = 0; i < 10; i++) {
    for (let key = 0; key < 20; key++) await take(server, `key ${i} ${key}`);
    scrapes.push(await scrape(server));
  }
  expect(withoutLag(firing([scrapes], 9))).toEqual(['SluiceEvictions']);
});

test('an alert fires when most takes are denied', async () => {
  const server = await serving(LIMITS);
  const scrapes = [await scrape(server)];
  for (let i = 0; i < 12; i++) {
    for (let tries = 0; tries < 10; tries++) await take(server);
    scrapes.push(await scrape(server));
  }
  expect(withoutLag(firing([scrapes], 11))).toEqual(['SluiceHighDenialRatio']);
});

test('an alert fires when the event loop stalls', async () => {
  const server = await serving(LIMITS);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const end = performance.now() + 400;
  while (performance.now() < end);
  const lag = async () =>
    Number(/^sluice_event_loop_lag_seconds (\S+)/m.exec((await scrape(server)).text)?.[1]);
  await expect.poll(lag).toBeGreaterThan(0.3);
  expect(firing([[await scrape(server)]], 5)).toEqual(['SluiceEventLoopLag']);
});

test('an alert fires when a certificate expires soon', async () => {
  expect(withoutLag(firing([[await scrapeWithTls(10)]], 5))).toEqual(['SluiceCertificateExpiresSoon']);
});

test('an alert fires when a configuration is rejected', async () => {
  const file = temporaryFile(LIMITS);
  const server = await serving(LIMITS, { config: [file] });
  writeFileSync(file, 'limits: { api: 5/fortnight }');
  await server.reload();
  expect(withoutLag(firing([[await scrape(server)]], 5))).toEqual(['SluiceConfigReloadFailed']);
});

test('an alert fires when two servers have different configurations', async () => {
  const servers = [await serving(LIMITS), await serving('limits: { api: 6/h }')];
  const scrapes = await Promise.all(servers.map(async (server) => [await scrape(server)]));
  expect(withoutLag(firing(scrapes, 30))).toEqual(['SluiceConfigsDiffer']);
});

test('an alert fires when a server stays in shadow mode', async () => {
  const server = await serving(LIMITS, { shadow: true });
  const scrapes = [[await scrape(server)]];
  expect(withoutLag(firing(scrapes, 60))).toEqual([]);
  expect(withoutLag(firing(scrapes, 50, 30))).toEqual(['SluiceShadowMode']);
});
