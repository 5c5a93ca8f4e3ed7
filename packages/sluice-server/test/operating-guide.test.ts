/** Runs what docs/guides/operating.md shows, and checks that it and the README leave nothing out. Needs the build. */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { exposition } from 'sluice/prometheus';
import { expect, inject, test } from 'vitest';
import { root, textOf } from 'sluice-test-support/docs/blocks.ts';
import { commandsIn, reading } from 'sluice-test-support/docs/reading.ts';
import { SERVE_FLAGS } from '../src/cli/serve-flags.ts';
import { certificates } from './listeners/listeners.ts';
import { collector } from './telemetry/collector.ts';
import { freePort, serving, started, temporaryFile } from './serving.ts';

const block = reading('docs/guides/operating.md');
const [probing = '', curl = '', ...more] = commandsIn(block('sh', '--probe-http'));
const refusal = block('json', 'request refused');
const pushing = commandsIn(block('sh', '--otlp-endpoint'));
const guide = textOf('docs/guides/operating.md');
const documentation = guide + textOf('packages/sluice-server/README.md');

const LIMITS = 'limits: { api: 5/h }';
const shell = promisify(execFile);

/** Arguments of a `sluice serve …` line, with the files and addresses that it names replaced by those of the test. */
function argumentsOf(line: string, places: Readonly<Record<string, string>>): string[] {
  const words = line.split(' ');
  expect(words.slice(0, 2)).toEqual(['sluice', 'serve']);
  for (const place of Object.keys(places)) expect(words).toContain(place);
  return words.slice(2).map((word) => places[word] ?? word);
}

test('the commands in the guide start a server whose probe listener is ready', async () => {
  expect(more).toEqual([]);
  const address = `127.0.0.1:${await freePort()}`;
  const places = { 'limits.yaml': temporaryFile(LIMITS), '127.0.0.1:8082': address };
  const server = await started(...argumentsOf(probing, places));
  await server.says('"listener":"http"');
  const { stdout } = await shell('sh', ['-c', curl.replace('127.0.0.1:8082', address)]);
  expect(stdout).toBe('ok\n');
});

test('a refused request is logged with the line in the guide', async () => {
  const server = await serving(LIMITS);
  await server.post('/v1/take', { limit: 'serch', key: 'a' }, { 'x-request-id': 'from-client.1' });
  const shown = JSON.parse(refusal) as Record<string, string>;
  const line = server.lines.find((one) => one.includes('request refused')) ?? '{}';
  expect(JSON.parse(line)).toEqual({ ...shown, time: expect.any(String) });
});

test('metrics are pushed to the collector that the command in the guide names', async () => {
  expect(pushing).toHaveLength(1);
  const { url, received } = await collector();
  const places = { 'limits.yaml': temporaryFile(LIMITS), 'http://localhost:4318': url };
  const server = await started(...argumentsOf(pushing[0] ?? '', places));
  server.process.kill('SIGTERM');
  expect(await server.gone).toBe(0);
  expect(received.map(({ path }) => path)).toContain('/v1/metrics');
});

test('every flag of sluice serve is in the README or in the guide', () => {
  const named = new Set(documentation.match(/--[a-z][a-z-]+/g));
  expect(Object.keys(SERVE_FLAGS).filter((flag) => !named.has(`--${flag}`))).toEqual([]);
});

test('the flags in the guide exist', () => {
  const flags = guide.match(/(?<=`|serve .*)--[a-z][a-z-]+/g) ?? [];
  expect(flags.length).toBeGreaterThan(10);
  expect(flags.filter((flag) => !(flag.slice(2) in SERVE_FLAGS))).toEqual([]);
});

test('every metric that a server exports is in the table of the guide, with its OpenTelemetry name and its labels', async () => {
  const rows = new Map(
    [...guide.matchAll(/^\| `([a-z_]+)` \| `([a-z_.]+)` \| (.*?) \|/gm)].map((row) => [row[1], row.slice(2)]),
  );
  const redis = { url: `redis://127.0.0.1:${inject('redisPort')}`, deadline: '10s' };
  const probe = { host: '127.0.0.1', port: 0 };
  const { cert, key } = certificates();
  const servers = [
    await serving(LIMITS, { metrics: { topKeys: 3 } }),
    await serving(LIMITS, {
      store: redis,
      tls: { cert: temporaryFile(cert), key: temporaryFile(key) },
      probe,
    }),
  ];
  for (const { core } of servers) {
    for (let i = 0; i < 7; i++) await core.take('api', 'x');
    for (const family of core.metrics.families()) {
      const [, prometheus = ''] = /^# TYPE (\w+)/m.exec(exposition([family])) ?? [];
      const [openTelemetry, labels = ''] = rows.get(prometheus) ?? [];
      expect([prometheus, openTelemetry]).toEqual([prometheus, family.name]);
      const used = new Set(family.samples.flatMap((sample) => Object.keys(sample.labels ?? {})));
      expect([prometheus, [...used].filter((label) => !labels.includes(label))]).toEqual([prometheus, []]);
    }
  }
});

test('the table of the guide contains every message that the server logs, with its level, and no other messages', () => {
  const folder = join(root, 'packages/sluice-server/src');
  const logged = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [
      ...readFileSync(join(folder, name), 'utf8').matchAll(/\blog\.(info|warn|error)\(\s*(['"`])(.+?)\2/g),
    ])
    // A message that is put together at run time is listed with its beginning, which ends with an ellipsis.
    .map(([, level, , message = '']) => `${level}: ${message.replace(/\$\{.*/, '…')}`);
  const listed = guide
    .split('\n')
    .map((line) => /^\| `(info|warn|error)` \| (.*?) \|/.exec(line))
    .flatMap((row) =>
      [...(row?.[2]?.matchAll(/(`+)(.+?)\1(?!`)/g) ?? [])].map(([, , message]) => `${row?.[1]}: ${message}`),
    );
  expect(listed.toSorted()).toEqual([...new Set(logged)].toSorted());
});
