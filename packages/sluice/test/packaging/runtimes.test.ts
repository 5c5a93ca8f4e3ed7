/**
 * Runs runtimes/claims on the packed packages in every runtime. The other versions of Node come from
 * runtimes/engines/nodes; Bun, Deno and workerd are devDependencies.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { memory } from '../../src/index.ts';
import { conformance } from '../../src/testing/index.ts';
import {
  engines,
  folderOf,
  hasOtherNodes,
  installSluice,
  link,
  nodeBinary,
  type Packed,
  root,
} from 'sluice-test-support/packed.ts';

const ofStores = conformance(() => memory()).length;
const ofContenders = 2;
const ofClients = 10;

interface Results {
  readonly passed: readonly string[];
  readonly failed: readonly string[];
}

/** Imported by a URL that the type check does not follow, because the claims are JavaScript. */
const { judged, same } = (await import(
  /* @vite-ignore */ new URL('../../../../runtimes/claims/run.mjs', import.meta.url).href
)) as {
  readonly judged: (claims: readonly { readonly name: string; run(): unknown }[]) => Promise<Results>;
  readonly same: (actual: unknown, expected: unknown) => void;
};

/** The project of an application that installs the packages. */
const project = mkdtempSync(join(tmpdir(), 'sluice-runtimes-'));
/**
 * Versions of Node by name. Node 20 means the oldest supported release, 20.19. Where these versions cannot be installed, only
 * the version that runs the tests is checked.
 */
const NODES: Readonly<Record<string, string>> = hasOtherNodes
  ? Object.fromEntries(['20', '22', '24', '26'].map((major) => [`node ${major}`, nodeBinary(major)]))
  : { [`node ${process.versions.node}`]: process.execPath };
/** The versions of Node that have node:sqlite. */
const withSqlite = Object.keys(NODES).filter((name) => Number.parseInt(name.slice('node '.length), 10) >= 22);

/** The command line of each runtime, without the file. */
const COMMANDS: Record<string, readonly string[]> = {
  ...Object.fromEntries(Object.entries(NODES).map(([name, binary]) => [name, [binary]])),
  bun: [join(root, 'node_modules/.bin/bun'), 'run'],
  deno: [
    join(root, 'node_modules/.bin/deno'),
    'run',
    '--no-check',
    '--no-remote',
    '--node-modules-dir=manual',
    '--allow-all',
  ],
};

/** Commands of runtimes that load two copies of a package if a program both imports and requires it. */
const WITH_TWO_COPIES: Record<string, readonly string[]> = {
  ...Object.fromEntries(
    Object.entries(NODES).map(([name, binary]) => [
      `${name} with --no-experimental-require-module`,
      [binary, '--no-experimental-require-module'],
    ]),
  ),
  bun: COMMANDS['bun'] ?? [],
};

async function on(runtime: string, file: string, ...args: readonly string[]): Promise<Results> {
  const [command = '', ...before] = COMMANDS[runtime] ?? WITH_TWO_COPIES[runtime] ?? [];
  const { stdout } = await promisify(execFile)(command, [...before, join(project, 'claims', file), ...args], {
    cwd: project,
    env: {
      ...process.env,
      DENO_DIR: join(project, '.deno'),
      NO_COLOR: '1',
      NODE_OPTIONS: '',
      // Bun's default client connects to this server.
      REDIS_URL: `redis://127.0.0.1:${inject('redisPort')}/13`,
    },
    // A process that hangs must not outlive the test.
    timeout: 50_000,
    killSignal: 'SIGKILL',
  });
  return JSON.parse(stdout) as Results;
}

/** Runs a module on workerd. With the flag 'nodejs_compat', workerd has Node's modules. */
async function onWorkerd(file: string, flags: readonly string[] = []): Promise<Results> {
  const { outputFiles } = await build({
    entryPoints: [join(project, 'claims', file)],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
    external: flags.length > 0 ? ['node:*'] : [],
  });
  const script = outputFiles[0]?.text ?? '';
  const worker = new Miniflare({
    modules: true,
    script,
    compatibilityDate: '2026-01-01',
    compatibilityFlags: [...flags],
    port: 0,
  });
  try {
    const response = await fetch(await worker.ready);
    return (await response.json()) as Results;
  } finally {
    await worker.dispose();
  }
}

/** All entries of a package, with the names of the values that they export. */
function entriesOf(name: Packed): (readonly [entry: string, values: readonly string[]])[] {
  const listed = JSON.parse(readFileSync(join(folderOf(name), 'exports.json'), 'utf8')) as Record<
    string,
    { readonly values: readonly string[] }
  >;
  return Object.entries(listed).map(([entry, { values }]) => [entry.replace('.', name), values.toSorted()]);
}

const LISTED = [...entriesOf('sluice'), ...entriesOf('sluice-compat')];
/** NestJS runs only on Node. */
const NEST = 'sluice/nest';
/** These entries import Node's modules, which workerd has only with a flag. */
const OF_NODE = [
  'sluice/redis',
  'sluice/ipc',
  'sluice/diagnostics',
  'sluice-compat/rolling-window',
  'sluice-compat/rate-limiter-flexible',
  'sluice-compat/multi-precision',
];

/** A module that imports all entries and checks the names that they export. `last` is its last line, which reports the results. */
function importing(entries: typeof LISTED, last: string): string {
  return [
    `import { claimsOf } from './entries.mjs';`,
    `import { judged } from './run.mjs';`,
    ...entries.map(([name], i) => `import * as entry${i} from '${name}';`),
    `const found = judged(claimsOf({`,
    ...entries.map(([name, values], i) => `  '${name}': [entry${i}, ${JSON.stringify(values)}],`),
    `}));`,
    last,
  ].join('\n');
}

beforeAll(async () => {
  if (hasOtherNodes) engines('nodes');
  installSluice(project);
  for (const name of [
    'ioredis',
    'redis',
    '@nestjs/common',
    '@nestjs/core',
    '@nestjs/websockets',
    'reflect-metadata',
  ])
    link(name, project);
  cpSync(join(root, 'runtimes/claims'), join(project, 'claims'), { recursive: true });
  const withFlag = LISTED.filter(([name]) => name !== NEST);
  const plain = withFlag.filter(([name]) => !OF_NODE.includes(name));
  const print = 'console.log(JSON.stringify(await found));';
  const answer = 'export default { fetch: async () => Response.json(await found) };';
  writeFileSync(join(project, 'claims/all.mjs'), importing(LISTED, print));
  writeFileSync(join(project, 'claims/all-but-nest.mjs'), importing(withFlag, answer));
  writeFileSync(join(project, 'claims/without-node.mjs'), importing(plain, answer));
  await build({
    entryPoints: [join(root, 'packages/sluice/test/stores/contenders.ts')],
    outfile: join(project, 'claims/contenders.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
  });
}, 300_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

describe('with the packed packages,', { timeout: 60_000 }, () => {
  const seen = new Map<string, Results>();

  it.each([...Object.keys(COMMANDS), 'workerd'])(
    'sluice and sluice/fetch meet every claim on %s',
    async (runtime) => {
      const results = runtime === 'workerd' ? await onWorkerd('worker.mjs') : await on(runtime, 'print.mjs');
      seen.set(runtime, results);
      expect(results.failed).toEqual([]);
    },
  );

  it('all runtimes check the same claims', () => {
    const expected = [...seen.values()][0]?.passed ?? [];
    expect(expected.length).toBeGreaterThan(ofStores + 15);
    for (const [runtime, { passed }] of seen)
      expect({ runtime, passed }).toEqual({ runtime, passed: expected });
    expect(seen.size).toBe(Object.keys(COMMANDS).length + 1);
  });

  it.each(Object.keys(COMMANDS))('every entry loads and exports the listed names on %s', async (runtime) => {
    const { passed, failed } = await on(runtime, 'all.mjs');
    expect(failed).toEqual([]);
    expect(passed).toEqual(LISTED.map(([name]) => name));
  });

  it.each([
    ...Object.keys(COMMANDS).map((runtime) => [runtime, runtime in WITH_TWO_COPIES ? 2 : 1] as const),
    ...Object.keys(NODES).map((name) => [`${name} with --no-experimental-require-module`, 2] as const),
  ])(
    'require() and import() can be used in one program on %s (loaded copies: %i)',
    async (runtime, copies) => {
      const { passed, failed } = await on(runtime, 'copies.cjs', String(copies));
      expect(failed).toEqual([]);
      expect(passed.length).toBe(9);
    },
  );

  it.each([
    ['without-node.mjs', [], 1 + OF_NODE.length],
    ['all-but-nest.mjs', ['nodejs_compat'], 1],
  ])('every entry that %s imports loads on workerd with flags %j', async (file, flags, missing) => {
    const { passed, failed } = await onWorkerd(file, flags);
    expect(failed).toEqual([]);
    expect(passed.length).toBe(LISTED.length - missing);
  });

  it.each(Object.keys(COMMANDS))('the Redis store passes the conformance suite on %s', async (runtime) => {
    const { passed, failed } = await on(runtime, 'redis.mjs', String(inject('redisPort')));
    expect(failed).toEqual([]);
    expect(passed.length).toBe(ofStores);
  });

  it("the Redis store passes the conformance suite with Bun's own client", async () => {
    const { passed, failed } = await on('bun', 'bun-redis.mjs', String(inject('redisPort')));
    expect(failed).toEqual([]);
    expect(passed.length).toBe(ofStores + ofClients);
  });
});

it.each([...withSqlite, 'bun'])(
  'the SQLite store passes the conformance suite, and admits exactly the limit for several writers, on %s',
  async (runtime) => {
    const { passed, failed } = await on(runtime, 'sqlite.mjs');
    expect(failed).toEqual([]);
    expect(passed.length).toBe(ofStores + ofContenders);
  },
);

it('a claim that does not hold is reported as failed', async () => {
  const claims = [
    { name: 'right', run: () => same([1, '1'], [1, '1']) },
    { name: 'wrong', run: () => same(1, 2) },
    { name: 'late', run: () => Promise.reject(new Error('no')) },
  ];
  const { passed, failed } = await judged(claims);
  expect(passed).toEqual(['right']);
  expect(failed.map((text) => text.split(':')[0])).toEqual(['wrong', 'late']);
});
