/** Installs the packed packages with npm beside older frameworks and clients, and with pnpm and Yarn, and loads them. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { engines, link, pack, root, unpack } from 'sluice-test-support/packed.ts';
import { reading } from 'sluice-test-support/docs/reading.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-installs-')));
let dependencies: Readonly<Record<string, string>>;

beforeAll(() => {
  dependencies = {
    sluice: `file:${pack('sluice', folder)}`,
    'sluice-compat': `file:${pack('sluice-compat', folder)}`,
  };
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Creates a project that depends on the packages. Returns its folder. */
function create(name: string, others: Readonly<Record<string, string>> = {}): string {
  const project = join(folder, name);
  mkdirSync(project);
  cpSync(join(root, '.npmrc'), join(project, '.npmrc'));
  const manifest = { name: 'app', private: true, dependencies: { ...dependencies, ...others } };
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest));
  cpSync(join(root, 'runtimes/claims/installed.cjs'), join(project, 'installed.cjs'));
  return project;
}

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    COREPACK_ENABLE_STRICT: '0',
    YARN_ENABLE_GLOBAL_CACHE: '0',
    YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
    YARN_ENABLE_NETWORK: '0',
    YARN_ENABLE_TELEMETRY: '0',
  };
  const options = { cwd, env, shell: process.platform === 'win32' };
  return (await promisify(execFile)(command, args, options)).stdout;
}

it.each([
  [
    'older versions',
    {
      fastify: '4.28.1',
      hono: '3.12.12',
      ioredis: '4.30.0',
      redis: '4.7.1',
      '@nestjs/common': '10.4.22',
      '@nestjs/core': '10.4.22',
      rxjs: '7.8.2',
      'reflect-metadata': '0.2.2',
    },
  ],
  [
    'much older versions and a prerelease',
    { fastify: '3.29.5', ioredis: '3.2.2', redis: '2.8.0', pg: '7.18.2', hono: '4.0.0-rc.2' },
  ],
])('npm installs the packages with %s of their peers', { timeout: 120_000 }, async (name, others) => {
  const project = create(name, others);
  await run(project, 'npm', 'install', '--package-lock-only', '--ignore-scripts');
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>;
  };
  for (const [name, version] of Object.entries(others))
    expect([name, packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  expect(packages['node_modules/sluice']).toBeDefined();
});

it('the middlewares work with Fastify 4, Hono 3 and NestJS 10', async () => {
  const frameworks = join(engines('older-frameworks'), '..');
  const project = join(folder, 'frameworks');
  mkdirSync(project);
  unpack('sluice', project);
  for (const name of [
    '@nestjs/common',
    '@nestjs/core',
    '@nestjs/platform-fastify',
    'fastify',
    'hono',
    'reflect-metadata',
  ])
    link(name, project, frameworks);
  for (const file of ['older-frameworks.mjs', 'run.mjs'])
    cpSync(join(root, 'runtimes/claims', file), join(project, file));
  const { passed, failed } = JSON.parse(await run(project, process.execPath, 'older-frameworks.mjs')) as {
    passed: readonly string[];
    failed: readonly string[];
  };
  expect(failed).toEqual([]);
  expect(passed).toEqual(['Fastify 4', 'Hono 3', 'NestJS 10']);
}, 300_000);

/** The program of each package manager, its arguments to install without a network, and its arguments to run Node. */
const MANAGERS = {
  pnpm: ['pnpm/bin/pnpm.cjs', ['install', '--offline', '--store-dir', 'store'], []],
  'Yarn 1': ['yarn/bin/yarn.js', ['install', '--offline', '--cache-folder', 'cache', '--no-lockfile'], []],
  "Yarn 4 (Plug'n'Play)": ['@yarnpkg/cli-dist/bin/yarn.js', ['install'], ['node']],
} as const;

it.each(Object.keys(MANAGERS))(
  '%s installs packages that can be imported and required',
  async (name) => {
    const [program, install, start] = MANAGERS[name as keyof typeof MANAGERS];
    const manager = join(engines('package-managers'), program);
    const project = create(program.split('/')[0] ?? '');
    // Yarn 4 installs only a project that has this file.
    writeFileSync(join(project, 'yarn.lock'), '');
    await run(project, process.execPath, manager, ...install);
    const starter = start.length === 0 ? [] : [manager, ...start];
    const printed = await run(project, process.execPath, ...starter, 'installed.cjs');
    expect(JSON.parse(printed)).toEqual([true, 3, 'fallback']);
  },
  120_000,
);

const block = reading('docs/guides/installing.md');
it.each([
  ['npm install', block('sh', 'npm install'), 'npm install sluice'],
  ['pnpm add', block('sh', 'pnpm add'), 'pnpm add sluice'],
  ['yarn add', block('sh', 'yarn add'), 'yarn add sluice'],
  ['bun add and deno add', block('sh', 'bun add'), 'bun add sluice\ndeno add npm:sluice'],
])('the installation guide shows how to use %s', (_, found, expected) => {
  expect(found).toBe(expected);
});
