/** Tests the stores for D1 and Durable Objects in workerd, Cloudflare's runtime, which runs a bundle of the sources. */
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Miniflare, type WorkerOptions } from 'miniflare';
import { reading } from 'sluice-test-support/docs/reading.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, gcra, memory } from '../../../src/index.ts';
import { d1, type D1Database, migration } from '../../../src/stores/d1/index.ts';
import { durableObject, SluiceObject } from '../../../src/stores/durable-object/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';

const configuration = reading('packages/sluice/src/stores/durable-object/README.md')('json', 'bindings');
const patient = { deadline: '30s', onFailure: 'throw' } as const;
const WORKERS = ['one', 'other'] as const;
let runtime: Miniflare;
let database: D1Database & { exec(sql: string): Promise<unknown> };

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('./worker.ts', import.meta.url))],
    bundle: true,
    write: false,
    format: 'esm',
    // Workers do not have Node's modules, so the bundle must not contain them.
    platform: 'neutral',
    target: 'es2022',
  });
  const script = outputFiles[0]?.text ?? '';
  // Both Workers use the same database and the same objects.
  const worker = (name: (typeof WORKERS)[number]): WorkerOptions => {
    const object = (className: string) => ({ className, scriptName: WORKERS[0], useSQLite: true });
    return {
      name,
      modules: true,
      script,
      compatibilityDate: '2026-01-01',
      d1Databases: { DB: 'limits' },
      durableObjects: { LIMITS: object('SluiceObject'), CLAIMS: object('Claims') },
    };
  };
  runtime = new Miniflare({ workers: WORKERS.map(worker), port: 0 });
  database = await runtime.getD1Database('DB', WORKERS[0]);
  await database.exec(migration().replaceAll('\n', ' '));
}, 60_000);

afterAll(() => runtime.dispose());

async function ask(worker: (typeof WORKERS)[number], query: Record<string, string>): Promise<string> {
  const target = (await runtime.getWorker(worker)) as unknown as { fetch(url: string): Promise<Response> };
  return (await target.fetch(`http://worker/?${new URLSearchParams(query).toString()}`)).text();
}

/** Only the names of the claims are needed here. */
const writers = contenders(() => memory() as never, true);
const all = [...conformance(() => memory()), ...writers];

// The object that a Worker calls decides with the same store as code inside an object, so the conformance suite covers both.
describe.each([
  ['D1', 'd1', all],
  ['Durable Objects, from a Worker', 'namespace', all],
  ['a Durable Object, inside the object', 'storage', writers],
])('the store on %s', (_, kind, claims) => {
  for (const { name } of claims)
    test(name, async () => expect(await ask('one', { kind, claim: name })).toBe('holds'), 20_000);
});

describe.each(['d1', 'namespace'])('two Workers that share a limit: %s', (kind) => {
  test('admit exactly the limit when many requests use a limiter concurrently', async () => {
    const requests = Array.from({ length: 20 }, (_, i) => ask(i % 2 === 0 ? 'one' : 'other', { kind }));
    const answers = await Promise.all(requests);
    expect(answers.filter((text) => text === 'true').length).toBe(12);
    expect(answers.filter((text) => text === 'false').length).toBe(8);
  }, 30_000);
});

describe('the store on D1', () => {
  test('rejects a check if the table is missing, with the statement that creates it', async () => {
    const store = d1(database, { ...patient, table: 'missing' });
    const failure = createLimiter('10/h', { store, name: 'api' }).take('k');
    await expect(failure).rejects.toMatchObject({ code: 'ERR_TABLE' });
    await expect(failure).rejects.toThrow('CREATE TABLE IF NOT EXISTS "missing"');
  });

  test.each([
    ['a node:sqlite database', { prepare() {}, exec() {} }, "use sqlite(database) from 'sluice/sqlite'"],
    ['undefined', undefined, 'must be the binding of a D1 database, such as env.DB'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => d1(given as never)).toThrow(words);
  });
});

describe('the store on Durable Objects', () => {
  test('exports the class that the configuration on its documentation page binds', () => {
    const { durable_objects, migrations } = JSON.parse(configuration);
    expect(durable_objects.bindings).toEqual([{ name: 'LIMITS', class_name: SluiceObject.name }]);
    expect(migrations[0].new_sqlite_classes).toEqual([SluiceObject.name]);
  });

  test('rejects a custom algorithm in a Worker, because the object does not know the algorithm', async () => {
    const own = { ...gcra({ limit: 1, per: '1s' }) };
    const policy = { ...own, algorithm: { ...own.algorithm, name: 'mine' } };
    const store = durableObject({ idFromName: () => '', get: () => ({}) as never }, patient);
    const take = createLimiter(policy, { store, name: 'api' }).take('k');
    await expect(take).rejects.toThrow('durableObject(ctx.storage)');
  });

  test.each([
    ['the state of an object', { storage: {} }, 'is the state of an object; pass its storage'],
    ['a stub', { fetch() {} }, 'is the stub of one object; pass the binding of its class'],
    ['undefined', undefined, 'must be the binding of a Durable Object class'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => durableObject(given as never)).toThrow(words);
  });
});
