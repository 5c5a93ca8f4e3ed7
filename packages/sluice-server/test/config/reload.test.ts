/** Loads large configurations while the server answers requests. Uses real processes, since the worker thread needs the build. */
import { renameSync, writeFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { memory, type Store } from 'sluice';
import { redis } from 'sluice/redis';
import { expect, inject, test } from 'vitest';
import { parseConfig } from '../../src/config/config.ts';
import { packed, unpacked } from '../../src/config/pack.ts';
import { createCore } from '../../src/core/core.ts';
import { type Started, started, take, temporaryFile } from '../serving.ts';

const MANY = 10_000;

/** Returns a configuration with many limits. `last` is the YAML of the last limit. */
function manyLimits(policy: string, last = ''): string {
  const names = Array.from({ length: MANY }, (_, i) => `  limit-${i}: ${policy}\n`);
  return `limits:\n  api: ${policy}\n${names.join('')}${last}`;
}

/** Replaces the file atomically, so that no reader sees an incomplete file. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}

async function limitsOf({ url }: Started): Promise<number> {
  return ((await (await fetch(`${url}/v1/limits`)).json()) as unknown[]).length;
}

test(`while ${MANY} limits are loaded, the server keeps answering, with either the old or the new configuration`, async () => {
  const file = temporaryFile('limits: { api: 5/h }');
  const server = await started('--config', file, '--no-watch');
  await take(server.url, 'api', 'x');
  replace(file, manyLimits('7/h'));
  const start = performance.now();
  server.process.kill('SIGHUP');
  const sizes = new Set<number>();
  let isLoaded = false;
  let worst = 0;
  const loaded = server.says('"message":"configuration loaded","limits":10001').then(() => (isLoaded = true));
  while (!isLoaded) {
    const asked = performance.now();
    expect((await fetch(`${server.url}/healthcheck`)).status).toBe(200);
    worst = Math.max(worst, performance.now() - asked);
    if (sizes.size < 2) sizes.add(await limitsOf(server));
  }
  await loaded;
  const took = performance.now() - start;
  sizes.add(await limitsOf(server));
  expect(sizes).toEqual(new Set([1, MANY + 1]));
  // If the configuration were loaded synchronously, the slowest response would take as long as loading.
  expect(worst).toBeLessThan(took / 3);
  expect(await take(server.url, 'api', 'x')).toMatchObject({ limit: 7 });
}, 120_000);

test('the server keeps the entire previous configuration if the last of many limits is invalid', async () => {
  const file = temporaryFile('limits: { api: 5/h }');
  const server = await started('--config', file);
  replace(file, manyLimits('7/h', '  broken: 1/fortnight\n'));
  await server.says('"message":"invalid configuration"');
  await server.says(`"line":${MANY + 3}`);
  await server.says('keeping the previous configuration');
  expect(await limitsOf(server)).toBe(1);
  expect(await take(server.url, 'api', 'x')).toMatchObject({ limit: 5 });
  await expect(take(server.url, 'limit-0', 'x')).rejects.toThrow('404');
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  expect(metrics).toContain('sluice_config_last_reload_successful 0');
}, 120_000);

test('the server ends up with the newest configuration when files change faster than they are loaded', async () => {
  const file = temporaryFile('limits: { api: 5/h }');
  const server = await started('--config', file, '--no-watch');
  for (const text of [manyLimits('6/h'), manyLimits('7/h'), 'limits: { api: 8/h }']) {
    replace(file, text);
    server.process.kill('SIGHUP');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await server.says('"message":"configuration loaded","limits":1,');
  expect(await take(server.url, 'api', 'x')).toMatchObject({ limit: 8 });
}, 120_000);

test.each<[string, () => Store]>([
  ['memory', () => memory()],
  ['redis', () => redis(new Redis(inject('redisPort'), '127.0.0.1'), { deadline: '30s' })],
])(
  'a reload can change the algorithm and the tiers of a limit, and change them back, without losing counts (%s)',
  async (_, open) => {
    const name = `reload-${process.pid}`;
    const config = (api: string) =>
      parseConfig([{ file: 'limits.yaml', text: `limits:\n  ${name}: ${api}\n` }]);
    const core = createCore(config('5/h'), { store: open() });
    const remaining = async (tier?: string) => (await core.take(name, 'x', { tier })).remaining;
    expect(await remaining()).toBe(4);
    await core.reload(config('9/h sliding-log'));
    expect(await remaining()).toBe(8);
    await core.reload(config('{ policies: 5/h, tiers: { pro: 20/h fixed-window } }'));
    expect([await remaining(), await remaining('pro')]).toEqual([4, 19]);
    await core.reload(config('5/h'));
    expect(await remaining()).toBe(3);
    await core.close();
  },
);

test('every kind of configuration can be transferred between threads without a change', () => {
  const config = parseConfig([
    {
      file: 'limits.yaml',
      text: `
limits:
  plain: 10/s burst 20
  list: [5/s, { algorithm: sliding-log, limit: 5, per: 10m }]
  named:
    policies:
      attempts: { algorithm: sliding-log, limit: 5, per: 10m }
      month: { algorithm: fixed-window, limit: 100, align: month, timeZone: Europe/Berlin }
      __proto__: 7/h
      recipe: { algorithm: concurrency, limit: 3, lease: 1m }
    tiers: { __proto__: 50/s, pro: { algorithm: token-bucket, capacity: 5, refill: 1, every: 1m } }
    overrides: { a: unlimited, b: blocked, 'c-*': { tier: pro }, d: { algorithm: gcra, limit: 1, per: 1s } }
    mode: partial
    shadow: true
domain: edge
descriptors:
  - key: path
    value: /login*
    descriptors:
      - key: remote_address
        rate_limit: { policies: 5/min & 20/h }
  - key: path
    rate_limit: { unit: second, requests_per_unit: 10, name: a, replaces: [{ name: b }] }
  - key: none
    value: x
    rate_limit: { unlimited: true }
`,
    },
  ]);
  const sent = unpacked(structuredClone(packed(config)));
  expect(sent).toEqual(config);
  // Serializing both sides in the same way shows any difference.
  expect(JSON.stringify(packed(sent), shown)).toBe(JSON.stringify(packed(config), shown));
});

function shown(_: string, value: unknown): unknown {
  return value instanceof Map || value instanceof Set ? [...value] : value;
}

test('parsing takes time proportional to the number of limits', () => {
  const timed = (count: number): number => {
    const text = `limits:\n${Array.from({ length: count }, (_, i) => `  limit-${i}: 1/s\n`).join('')}`;
    const times = [0, 1, 2].map(() => {
      const start = performance.now();
      parseConfig([{ file: 'limits.yaml', text }]);
      return performance.now() - start;
    });
    return Math.min(...times);
  };
  timed(1000);
  // 16,000 limits are 8 times as many. If the parser compared each key with all previous keys, they would take 64 times as long.
  expect(timed(16_000) / timed(2000)).toBeLessThan(24);
}, 120_000);
