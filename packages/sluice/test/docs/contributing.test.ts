/** Checks the contributors' pages: the folder overview, the example algorithm in TypeScript and Lua, and the import rules. */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { MaybePromise, Policies, Policy, Store } from '../../src/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import { compare } from '../stores/differential.ts';
import { root, textOf } from 'sluice-test-support/docs/blocks.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const architecture = reading('docs/contributing/architecture.md');
const places = architecture('', 'packages/sluice/src/\n');
const violation = architecture('', 'algorithms/ may import');

const guide = reading('docs/contributing/algorithms.md');
const lua = guide('lua', '-- Mirrors session.ts');
const typescript = guide('ts', 'const sessionAlgorithm');
const registryLine = guide('diff', 'session: sessionEntry');
const bound = guide('diff', 'CASES');
const claim = guide('diff', 'ALGORITHM_CLAIMS');

type Sluice = typeof import('../../src/index.ts') &
  typeof import('../../src/stores/redis/index.ts') &
  typeof import('../../src/stores/ipc/index.ts') &
  typeof import('../../src/testing/index.ts');

const page = reading('packages/playground/README.md');
const parts = page('', 'src/model/');

/** The files and folders in a drawing: names at the start of a line or after a gap. */
const namesIn = (drawing: string): string[] =>
  [...drawing.matchAll(/(?:^|\s{2,})([\w/-]+(?:\.ts|\/))(?=\s|$)/gm)].map((match) => match[1] ?? '');
const sources = 'packages/sluice/src';
const entriesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );

const folders = entriesOf(sources).filter((name) => name.endsWith('/'));

describe('the folder overview', () => {
  test('names every folder of the library and no other folder', () => {
    const [, ...names] = namesIn(places);
    expect(names.toSorted()).toEqual(folders.toSorted());
  });

  test('names every store', () => {
    const [line = ''] = /^ {2}stores\/.*$/m.exec(places) ?? [];
    for (const name of entriesOf(`${sources}/stores`)) expect(line).toContain(` ${name.replace('/', '')}`);
  });

  test('of the playground names every part of the playground', () => {
    const names = namesIn(parts);
    for (const name of names) expect(existsSync(join(root, 'packages/playground', name)), name).toBe(true);
    const there = entriesOf('packages/playground/src').filter((name) => name.endsWith('/'));
    expect(names.toSorted()).toEqual([...there.map((name) => `src/${name}`), 'test/'].toSorted());
  });
});

/** A temporary tree with these files and copies of `copied`, to run a script or a linter on. */
function treeWith(copied: readonly string[], files: Readonly<Record<string, string>>): string {
  const tree = mkdtempSync(join(tmpdir(), 'sluice-tree-'));
  afterAll(() => rmSync(tree, { recursive: true }));
  for (const name of [...copied, 'packages/sluice/package.json']) cpSync(join(root, name), join(tree, name));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  return tree;
}

describe('the import rules', () => {
  const configuration = 'biome.imports.jsonc';

  /** What Biome prints about a tree that contains only this file. */
  function lint(file: string, code: string): string {
    const tree = treeWith(['biome.json', configuration], { [`${sources}/${file}`]: code });
    const biome = join(root, 'node_modules/.bin/biome');
    const { stdout, stderr } = spawnSync(biome, ['lint', '--colors=off'], { cwd: tree, encoding: 'utf8' });
    return stdout + stderr;
  }

  test('consist of at most 12 rules, and every folder of the library has a rule', () => {
    const ruled = [...textOf(configuration).matchAll(/"packages\/sluice\/src\/([\w/-]+)\/\*\*"\]/g)].map(
      (match) => match[1] ?? '',
    );
    expect(ruled.length).toBeLessThanOrEqual(12);
    for (const folder of folders) expect(ruled).toContain(folder.slice(0, -1));
  });

  test('report a violation with the output shown in the contributing guide', () => {
    const output = lint(
      'algorithms/gcra/gcra.ts',
      `import { open } from '../../limiter/open-names.ts';\nopen();\n`,
    );
    for (const line of violation.split('\n')) expect(output).toContain(line);
  });

  test.each([
    ['engine/decide.ts', `import { open } from '../limiter/open-names.ts';\nopen();\n`, 'engine/ may import'],
    ['wrappers/leased/leased.ts', `export * from '../../http/guard.ts';\n`, 'wrappers/ may import'],
    ['stores/table/table.ts', `await import('../redis/redis.ts');\n`, 'stores/table/ may import'],
    ['http/guard.ts', `import 'node:fs';\n`, 'noNodejsModules'],
    ['stores/redis/redis.ts', `import { Redis } from 'ioredis';\nnew Redis();\n`, 'noUndeclaredDependencies'],
  ])('reject a violation in %s', (file, code, message) => {
    expect(lint(file, code)).toContain(message);
  });

  test.each([
    ['wrappers/leased/leased.ts', `export * from '../../engine/decide.ts';\n`],
    ['wrappers/resilient/local.ts', `export * from '../../stores/memory/memory.ts';\n`],
    [
      'stores/redis/redis.ts',
      `import 'node:crypto';\nimport type { Redis } from 'ioredis';\nexport type Client = Redis;\n`,
    ],
  ])('accept a permitted import in %s', (file, code) => {
    expect(lint(file, code)).not.toContain('lint/');
  });
});

/** Adds the lines that a block in diff format adds. Everything else in the block must be in the file. */
function patched(text: string, diff: string): string {
  return diff.split('\n@@\n').reduce((result, hunk) => {
    const lines = hunk.split('\n');
    const before = lines.filter((line) => !line.startsWith('+')).map((line) => line.slice(1));
    expect(result.split(`${before.join('\n')}\n`), hunk).toHaveLength(2);
    return result.replace(`${before.join('\n')}\n`, `${lines.map((line) => line.slice(1)).join('\n')}\n`);
  }, text);
}

describe('the example algorithm, added to the sources according to the guide,', () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  let tree: string;
  let sluice: Sluice;
  let session: (options: { readonly limit: number; readonly per: string }) => Policy;

  beforeAll(async () => {
    tree = treeWith(['scripts/bundle-lua.mjs'], {});
    const tests = 'packages/sluice/test';
    for (const folder of [sources, ...['algorithms', 'engine', 'support'].map((name) => `${tests}/${name}`)])
      cpSync(join(root, folder), join(tree, folder), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
    const [, code = ''] = /^(\/\*\* At most[\s\S]*?)^const limiter/m.exec(typescript) ?? [];
    const folder = join(tree, sources, 'algorithms/session');
    mkdirSync(folder);
    writeFileSync(join(folder, 'session.lua'), lua);
    writeFileSync(
      join(folder, 'session.ts'),
      `import { type Algorithm, type Cells, isFarAhead, type Policy, TIME_EPSILON } from '../../engine/contract.ts';
import { type Duration, parseDuration } from '../../internal/duration.ts';
import type { RatedEntry } from '../entry.ts';
${code}`,
    );
    for (const [file, diff] of [
      [`${sources}/algorithms/registry.ts`, registryLine],
      [`${sources}/testing/algorithm-claims.ts`, claim],
      [`${tests}/support/policies.ts`, bound],
    ] as const)
      writeFileSync(join(tree, file), patched(textOf(file), diff));
    const { status, stderr } = spawnSync(process.execPath, ['scripts/bundle-lua.mjs'], { cwd: tree });
    expect([status, String(stderr)]).toEqual([0, '']);

    const load = (name: string): Promise<unknown> =>
      import(/* @vite-ignore */ pathToFileURL(join(tree, sources, name)).href);
    const modules = ['index.ts', 'stores/redis/index.ts', 'stores/ipc/index.ts', 'testing/index.ts'];
    sluice = Object.assign({}, ...(await Promise.all(modules.map(load)))) as Sluice;
    session = sluice.algorithms['session']?.factory as unknown as typeof session;
  });
  afterAll(() => client.disconnect());

  const stores: Readonly<Record<string, (clock: ManualClock) => MaybePromise<Store>>> = {
    memory: (clock) => sluice.memory({ clock }),
    Redis: (clock) => sluice.redis(client, { clock, deadline: '30s', onFailure: 'throw' }),
    async ipc(clock) {
      const path = join(tmpdir(), `sluice-session-${process.pid}.sock`);
      const server = sluice.ipc({ path, store: sluice.memory({ clock }), deadline: '30s' });
      await sluice.createLimiter('1/s', { store: server, name: 'first' }).peek('key');
      const other = sluice.ipc({ path, serve: false, deadline: '30s', onFailure: 'throw' });
      return {
        ...other,
        async close() {
          await other.close();
          await server.close();
        },
      };
    },
  };
  test.each(Object.entries(stores))('passes its conformance claim on %s', async (_, make) => {
    const claims = sluice.conformance(make).filter(({ name }) => name.includes('a session'));
    expect(claims).toHaveLength(1);
    for (const { run } of claims) await run();
  });

  test('can be used in a policy string, like the other algorithms', () => {
    const limiter = sluice.createLimiter('3/min session');
    expect(limiter.take('alice', 3)).toMatchObject({ allowed: true, limit: 3, resetAfter: 60_000 });
    expect(limiter.take('alice').allowed).toBe(false);
    expect(limiter.take('bob', 3).allowed).toBe(true);
  });

  test('has a Lua script, a conformance claim and an upper bound, and passes the property tests', () => {
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const files = ['algorithms/algorithms', 'engine/properties'].map(
      (name) => `packages/sluice/test/${name}`,
    );
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [vitest, 'run', ...files, '-t', 'session', '--reporter=verbose', '--maxWorkers=1'],
      { cwd: tree, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
    );
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/✓ .* session > has a line in policies\.ts/);
    expect(stdout).toMatch(/✓ .* session > never admits more than its bound/);
  });

  const cases: readonly [name: string, policies: () => Policies][] = [
    ['alone', () => session({ limit: 4, per: '900ms' })],
    ['combined with a rate', () => ({ rate: '10/s', trial: session({ limit: 5, per: '2s' }) })],
  ];
  test.each(cases)('makes the same decisions in Redis as in memory: %s', async (name, policies) => {
    const own = { name: `session ${process.pid} ${name}` };
    await compare(
      policies(),
      (clock) => sluice.redis(client, { clock, deadline: '30s' }),
      own,
      { hits: 3000, atOnce: 6 },
      1,
    );
  });
});
