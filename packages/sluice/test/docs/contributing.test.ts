/** What contributors are shown: where things are, an algorithm in Lua, a broken arrow. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Policies, Policy } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { ALGORITHMS } from '../../src/stores/redis/lua.ts';
import { compare } from '../stores/differential.ts';
import { root, sourceOf } from 'sluice-test-support/docs/blocks.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const guide = reading('CONTRIBUTING.md');
const places = guide('', 'packages/sluice/src/\n');
const lua = guide('lua', '-- Mirrors lifetime.ts');
const typescript = guide('ts', 'const lifetimeAlgorithm');
const arrow = guide('', 'algorithms/gcra/gcra.ts imports');

const page = reading('packages/playground/README.md');
const parts = page('', 'src/model/');

/** Files and folders: what stands first in a line, or after a gap. */
const namesIn = (drawing: string): string[] =>
  [...drawing.matchAll(/(?:^|\s{2,})([\w/-]+(?:\.ts|\/))(?=\s|$)/gm)].map((match) => match[1] ?? '');
const sources = 'packages/sluice/src';
const entriesOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  );

describe('the drawing of the folders', () => {
  test('names every source and no other', () => {
    const [, ...names] = namesIn(places);
    const own = names.filter((name) => !name.startsWith('docs/'));
    const there = entriesOf(sources).filter((name) => name !== 'index.ts');
    expect(own.toSorted()).toEqual(there.toSorted());
    for (const name of names.filter((other) => !own.includes(other)))
      expect(existsSync(join(root, name)), name).toBe(true);
  });

  test('names every store', () => {
    const [line = ''] = /^ {2}stores\/.*$/m.exec(places) ?? [];
    for (const name of entriesOf(`${sources}/stores`)) expect(line).toContain(` ${name.replace('/', '')}`);
  });

  test('of the page names every part of it', () => {
    const names = namesIn(parts);
    for (const name of names) expect(existsSync(join(root, 'packages/playground', name)), name).toBe(true);
    const there = entriesOf('packages/playground/src').filter((name) => name.endsWith('/'));
    expect(names.toSorted()).toEqual([...there.map((name) => `src/${name}`), 'test/'].toSorted());
  });
});

/** A tree with these files, and a script of ours that looks at it. */
function treeWith(script: string, files: Readonly<Record<string, string>>): string {
  const tree = mkdtempSync(join(tmpdir(), 'sluice-tree-'));
  afterAll(() => rmSync(tree, { recursive: true }));
  for (const copied of [
    `scripts/${script}`,
    'packages/sluice/package.json',
    'packages/sluice-server/package.json',
  ])
    cpSync(join(root, copied), join(tree, copied));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    writeFileSync(join(tree, name), text);
  }
  return tree;
}

test('a broken arrow reads as shown', () => {
  const tree = treeWith('check-imports.mjs', {
    [`${sources}/algorithms/gcra/gcra.ts`]: `import { monotonic } from '../../clock.ts';\n`,
  });
  const { stderr, status } = spawnSync(process.execPath, ['scripts/check-imports.mjs'], {
    cwd: tree,
    encoding: 'utf8',
  });
  expect(stderr.split('\n\n')[0]).toBe(arrow);
  expect(status).toBe(1);
});

describe('the algorithm of the guide, bundled as its Lua is', () => {
  const client = new Redis(inject('redisPort'), '127.0.0.1');
  let lifetime: (limit: number) => Policy;

  beforeAll(async () => {
    const tree = treeWith('bundle-lua.mjs', {
      [`${sources}/algorithms/lifetime/lifetime.lua`]: lua,
      [`${sources}/stores/redis/lua.ts`]: '',
      // Without what it prints.
      'lifetime.ts': `${typescript.split('const limiter')[0]?.replace(`'sluice'`, `'${sourceOf('sluice')}'`)}export { lifetime };\n`,
    });
    const { status } = spawnSync(process.execPath, ['scripts/bundle-lua.mjs'], { cwd: tree });
    expect(status).toBe(0);
    const load = (name: string): Promise<unknown> =>
      import(/* @vite-ignore */ pathToFileURL(join(tree, name)).href);
    const bundled = (await load(`${sources}/stores/redis/lua.ts`)) as { ALGORITHMS: object };
    expect(Object.keys(bundled.ALGORITHMS)).toEqual(['lifetime']);
    Object.assign(ALGORITHMS, bundled.ALGORITHMS);
    ({ lifetime } = (await load('lifetime.ts')) as { lifetime: (limit: number) => Policy });
  });
  afterAll(() => client.disconnect());

  const cases: readonly [name: string, policies: () => Policies][] = [
    ['alone', () => lifetime(40)],
    ['beside a rate', () => ({ rate: '10/s', trial: lifetime(30) })],
  ];
  test.each(cases)('decides in Redis as in memory, to the last bit: %s', async (name, policies) => {
    const own = { name: `lifetime ${process.pid} ${name}` };
    await compare(
      policies(),
      (clock) => redis(client, { clock, deadline: '30s' }),
      own,
      { hits: 3000, atOnce: 6 },
      1,
    );
  });
});
