/**
 * The import matrix: runtimes/claims, written once, run by every runtime on the packed package. Node comes in its other
 * versions from runtimes/engines/nodes, Bun, Deno and workerd from the devDependencies.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { memory } from '../src/index.ts';
import { conformance } from '../src/testing/index.ts';
import { engines, installSluice, link, root } from './packed.ts';

const ofStores = conformance(() => memory()).length;
const ofRaces = 3;

interface Results {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

/** By a path that the type check does not follow: claims are JavaScript and know nothing of this project. */
const { judged, same } = (await import(
  /* @vite-ignore */ new URL('../../../runtimes/claims/run.mjs', import.meta.url).href
)) as {
  readonly judged: (claims: readonly { readonly name: string; run(): unknown }[]) => Promise<Results>;
  readonly same: (actual: unknown, expected: unknown) => void;
};

/** A stranger's project. */
const project = mkdtempSync(join(tmpdir(), 'sluice-runtimes-'));
const own = `node ${process.versions.node}`;
/** Of 20 the oldest that is supported. npm has these binaries for one platform each. */
const others = process.platform === 'linux' && process.arch === 'x64' ? ['20', '22', '24', '26'] : [];
/** Those that have a database of their own. */
const withSqlite = others.filter((major) => Number(major) >= 22);

/** The command of each runtime, ahead of the file. */
const COMMANDS: Record<string, readonly string[]> = {
  [own]: [process.execPath],
  ...Object.fromEntries(
    others.map((major) => [
      `node ${major}`,
      [join(root, `runtimes/engines/nodes/node_modules/node${major}/bin/node`)],
    ]),
  ),
  bun: [join(root, 'node_modules/.bin/bun'), 'run'],
  deno: [
    join(root, 'node_modules/.bin/deno'),
    'run',
    '--no-check',
    '--no-remote',
    '--node-modules-dir=manual',
    '--unstable-kv',
    '--allow-all',
  ],
};

async function on(runtime: string, file: string, ...args: readonly string[]): Promise<Results> {
  const [command = '', ...before] = COMMANDS[runtime] ?? [];
  const { stdout } = await promisify(execFile)(command, [...before, join(project, 'claims', file), ...args], {
    cwd: project,
    env: { ...process.env, DENO_DIR: join(project, '.deno'), NO_COLOR: '1', NODE_OPTIONS: '' },
    // One that hangs must not outlive the test.
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  return JSON.parse(stdout) as Results;
}

async function onWorkerd(): Promise<Results> {
  const { outputFiles } = await build({
    entryPoints: [join(project, 'claims/worker.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
  });
  const script = outputFiles[0]?.text ?? '';
  const worker = new Miniflare({ modules: true, script, compatibilityDate: '2026-01-01', port: 0 });
  try {
    const response = await fetch(await worker.ready);
    return (await response.json()) as Results;
  } finally {
    await worker.dispose();
  }
}

beforeAll(async () => {
  if (others.length > 0) engines('nodes');
  installSluice(project);
  link('ioredis', project);
  cpSync(join(root, 'runtimes/claims'), join(project, 'claims'), { recursive: true });
  cpSync(join(root, 'examples/stores'), join(project, 'claims/stores'), { recursive: true });
  await build({
    entryPoints: [join(root, 'packages/sluice/test/cas/races.ts')],
    outfile: join(project, 'claims/races.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  });
}, 300_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('the packed package', { timeout: 60_000 }, () => {
  const seen = new Map<string, Results>();

  it.each([...Object.keys(COMMANDS), 'workerd'])('core and fetch meet every claim on %s', async (runtime) => {
    const results = runtime === 'workerd' ? await onWorkerd() : await on(runtime, 'print.mjs');
    seen.set(runtime, results);
    expect(results.failed).toEqual([]);
  });

  it('the claims are the same everywhere, and not few', () => {
    const expected = seen.get(own)?.passed ?? [];
    expect(expected.length).toBeGreaterThan(ofStores + 15);
    for (const [runtime, { passed }] of seen)
      expect({ runtime, passed }).toEqual({ runtime, passed: expected });
    expect(seen.size).toBe(Object.keys(COMMANDS).length + 1);
  });

  it.each(Object.keys(COMMANDS))('the Redis store meets every claim of stores on %s', async (runtime) => {
    const { passed, failed } = await on(runtime, 'redis.mjs', String(inject('redisPort')));
    expect(failed).toEqual([]);
    expect(passed.length).toBe(ofStores);
  });
});

it('the example of a store on Deno KV meets every claim of stores, and of those who race', async () => {
  const { passed, failed } = await on('deno', 'deno-kv.mjs');
  expect(failed).toEqual([]);
  expect(passed.length).toBe(ofStores + ofRaces);
});

it.each(withSqlite)(
  'the example of a store on SQLite meets them over node:sqlite of Node %s',
  async (major) => {
    const { passed, failed } = await on(`node ${major}`, 'sqlite.mjs');
    expect(failed).toEqual([]);
    expect(passed.length).toBe(ofStores + ofRaces);
  },
);

it('a false claim is reported as failed', async () => {
  const claims = [
    { name: 'right', run: () => same([1, '1'], [1, '1']) },
    { name: 'wrong', run: () => same(1, 2) },
    { name: 'late', run: () => Promise.reject(new Error('no')) },
  ];
  const { passed, failed } = await judged(claims);
  expect(passed).toEqual(['right']);
  expect(failed.map((text) => text.split(':')[0])).toEqual(['wrong', 'late']);
});
