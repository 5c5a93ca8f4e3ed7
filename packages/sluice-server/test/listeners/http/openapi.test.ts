/** Tests that the OpenAPI document is valid, and that a client generated from it can use a real server. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Validator } from '@seriousme/openapi-schema-validator';
import { generateSource } from 'oazapfts';
import { expect, onTestFinished, test } from 'vitest';
import { serving } from '../../serving.ts';

const LIMITS = `
limits:
  api: 3/h
  search: 10/h
  calls: { policies: { algorithm: concurrency, limit: 2, lease: 1m } }
`;

test('the OpenAPI document is valid', async () => {
  const { url } = await serving(LIMITS);
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Record<string, unknown>;
  expect(await new Validator().validate(document)).toMatchObject({ valid: true });
  expect(document['paths']).toHaveProperty(['/v1/hits', 'post', 'operationId'], 'hits');
  const broken = { ...document, paths: { '/v1/take': { post: { responses: 'none' } } } };
  expect(await new Validator().validate(broken)).toMatchObject({ valid: false });
});

interface Answer {
  readonly status: number;
  readonly data: {
    readonly allowed: boolean;
    readonly remaining: number;
    readonly delay: number;
    readonly at: number;
    readonly atomic: boolean;
    readonly decisions: readonly unknown[];
    readonly detail: string;
  };
}

interface Client {
  readonly defaults: { baseUrl: string; headers: Record<string, string> };
  readonly [operation: string]: unknown;
}

test('a client that is generated from the document compiles, and can call every verb', async () => {
  const { url } = await serving(LIMITS, { adminTokens: () => ['boss'] });
  // The client imports its runtime, so it must be in a folder from which that package can be found.
  const cache = fileURLToPath(new URL('../../../../../node_modules/.cache', import.meta.url));
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'openapi-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const document = join(folder, 'openapi.json');
  writeFileSync(document, await (await fetch(`${url}/openapi.json`)).text());
  writeFileSync(join(folder, 'client.ts'), await generateSource(document));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const tsc = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc');
  const flags = [
    '--ignoreConfig',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--target',
    'es2022',
  ];
  execFileSync(process.execPath, [tsc, ...flags, join(folder, 'client.ts')], { cwd: folder, stdio: 'pipe' });

  const client = (await import(pathToFileURL(join(folder, 'client.js')).href)) as Client;
  client.defaults.baseUrl = url;
  const call = (operation: string, body: object): Promise<Answer> =>
    (client[operation] as (body: object) => Promise<Answer>)(body);

  const alice = { limit: 'api', key: 'alice' };
  const taken = await call('take', { ...alice, cost: 2 });
  expect(taken).toMatchObject({ status: 200, data: { allowed: true, remaining: 1 } });
  expect(await call('peek', { ...alice, cost: 2 })).toMatchObject({ data: { allowed: false } });
  expect(await call('settle', { ...alice, charged: 2, used: 1, at: taken.data.at })).toMatchObject({
    data: { remaining: 2 },
  });
  expect(await call('refund', { ...alice, cost: 1 })).toMatchObject({ data: { remaining: 3 } });
  expect(await call('reserve', { ...alice, cost: 3 })).toMatchObject({ data: { allowed: true, delay: 0 } });
  const items = [alice, { limit: 'search', key: 'alice' }];
  expect(await call('takeMany', { items })).toMatchObject({ data: { allowed: false, atomic: true } });
  expect(await call('forwardAuth', alice)).toMatchObject({ status: 429, data: { allowed: false } });
  const place = await call('take', { limit: 'calls', key: 'alice' });
  expect(place).toMatchObject({ data: { remaining: 1, held: true } });
  expect(await call('release', { limit: 'calls', key: 'alice', at: place.data.at })).toMatchObject({
    data: { remaining: 2 },
  });
  expect(await call('reset', alice)).toMatchObject({ status: 401 });
  client.defaults.headers = { authorization: 'Bearer boss' };
  expect(await call('block', { ...alice, duration: '1m' })).toMatchObject({ data: { allowed: false } });
  expect(await call('unblock', alice)).toMatchObject({ status: 200 });
  expect(await call('reset', alice)).toMatchObject({ data: { allowed: true, remaining: 3 } });
  expect(await call('take', { limit: 'none', key: 'alice' })).toMatchObject({
    status: 404,
    data: { detail: 'unknown limit "none"' },
  });
}, 60_000);
