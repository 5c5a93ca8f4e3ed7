/**
 * Compiles two kinds of files with TypeScript 5.0 to 7: runtimes/consumer, which uses the packed packages as an application
 * would, and files that re-export every listed name. The files are compiled as ES modules and as CommonJS. Our declarations are
 * checked strictly. Errors in the declarations of other packages are ignored.
 */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { engines, folderOf, link, type Packed, root, unpack } from 'sluice-test-support/packed.ts';

type Listed = Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>;

const project = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-typescripts-')));
const listedIn = (name: Packed): Listed =>
  JSON.parse(readFileSync(join(folderOf(name), 'exports.json'), 'utf8')) as Listed;

/** Re-exports every name of every entry, renamed so that no two are equal. */
function namesOf(name: Packed, isWanted: (entry: string) => boolean = () => true): string {
  const entries = Object.entries(listedIn(name)).filter(([entry]) => isWanted(entry));
  const lines = entries.flatMap(([entry, { values, types }], index) => {
    const from = `from '${entry.replace('.', name)}';`;
    const renamed = (names: readonly string[]) => names.map((one) => `${one} as ${one}_${index}`).join(', ');
    return [`export { ${renamed(values)} } ${from}`, `export type { ${renamed(types)} } ${from}`];
  });
  return lines.join('\n');
}

/** Entries that import the declarations of a framework, which take longer to compile than all other entries together. */
const framed = ['./fastify', './hono', './nest'];
const inBrowsers = ['.', './store', './http', './fetch', './testing'];

const NODE = { lib: ['es2023'], types: ['node'] };
const NODENEXT = { module: 'nodenext', moduleResolution: 'nodenext' };
const BUNDLER = { module: 'esnext', moduleResolution: 'bundler' };
const plain = ['plain.ts', 'compat.ts', 'server.ts', 'names.ts', 'compat-names.ts', 'server-names.ts'];
const commonJs = ['plain.ts', 'compat.ts', 'names.ts', 'compat-names.ts'];
const CONFIGS = {
  'nodenext.json': { compilerOptions: { ...NODE, ...NODENEXT }, files: plain },
  'bundler.json': { compilerOptions: { ...NODE, ...BUNDLER }, files: plain },
  'browser.json': {
    compilerOptions: { lib: ['es2022', 'dom'], types: [], ...BUNDLER },
    files: ['browser.ts', 'browser-names.ts'],
  },
  'frameworks.json': {
    compilerOptions: { ...NODE, ...NODENEXT, experimentalDecorators: true },
    files: ['frameworks.ts', 'framework-names.ts'],
  },
  // Files in this folder are CommonJS. The server is published only as ES modules.
  'commonjs/node16.json': {
    compilerOptions: { ...NODE, module: 'node16', moduleResolution: 'node16' },
    files: commonJs,
  },
  // Many older projects have these settings, without `moduleResolution`. TypeScript 6 finds modules in another way.
  'commonjs/commonjs.json': { compilerOptions: { ...NODE, module: 'commonjs' }, files: commonJs },
};
/** The only configuration for versions that lie between more thoroughly tested versions. */
const inBetween = ['nodenext.json'];
const commonJsConfigs = Object.keys(CONFIGS).filter((config) => config.startsWith('commonjs/'));
const withoutFrameworks = Object.keys(CONFIGS).filter((config) => config !== 'frameworks.json');

beforeAll(() => {
  engines('typescripts');
  for (const name of ['sluice', 'sluice-compat', 'sluice-server'] as const) unpack(name, project);
  const needs = [
    '@types/node',
    'undici-types',
    'fastify',
    'hono',
    '@nestjs/common',
    '@opentelemetry/api',
    'yaml',
  ];
  for (const name of [...needs, '@grpc/grpc-js']) link(name, project);
  cpSync(join(root, 'runtimes/consumer'), project, { recursive: true });
  writeFileSync(join(project, 'package.json'), JSON.stringify({ type: 'module' }));
  const names = {
    'names.ts': namesOf('sluice', (entry) => !framed.includes(entry)),
    'framework-names.ts': namesOf('sluice', (entry) => framed.includes(entry)),
    'browser-names.ts': namesOf('sluice', (entry) => inBrowsers.includes(entry)),
    'compat-names.ts': namesOf('sluice-compat'),
    'server-names.ts': namesOf('sluice-server'),
  };
  for (const [file, text] of Object.entries(names)) writeFileSync(join(project, file), text);
  mkdirSync(join(project, 'commonjs'));
  writeFileSync(join(project, 'commonjs/package.json'), JSON.stringify({ type: 'commonjs' }));
  for (const file of commonJs) cpSync(join(project, file), join(project, 'commonjs', file));
  for (const [file, { compilerOptions, files }] of Object.entries(CONFIGS)) {
    const strict = { target: 'es2022', strict: true, skipLibCheck: false, noEmit: true };
    writeFileSync(
      join(project, file),
      JSON.stringify({ compilerOptions: { ...strict, ...compilerOptions }, files }),
    );
  }
}, 120_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

it.each([
  ['5.0', [...inBetween, ...commonJsConfigs]],
  ['5.1', ['commonjs/commonjs.json']],
  ['5.2', ['commonjs/node16.json']],
  ['5.3', inBetween],
  ['5.4', Object.keys(CONFIGS).filter((config) => !commonJsConfigs.includes(config))],
  ['5.5', inBetween],
  ['5.6', ['nodenext.json', 'browser.json']],
  ['5.7', inBetween],
  ['5.8', inBetween],
  ['5.9', withoutFrameworks],
  ['6.0', withoutFrameworks],
])('TypeScript %s reports no error', { timeout: 120_000 }, async (version, configs) => {
  const folder = join(
    root,
    'runtimes/engines/typescripts/node_modules',
    `typescript${version.replace('.', '')}`,
  );
  const args = [join(project, 'compile.mjs'), folder, project, ...configs];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const found = JSON.parse(stdout) as { version: string; files: number; complaints: readonly string[] };
  expect(found.version.startsWith(version)).toBe(true);
  // This number of files shows that the declarations of all entries were compiled.
  expect(found.files).toBeGreaterThan(100);
  expect(found.complaints).toEqual([]);
});

it.each(Object.keys(CONFIGS))('TypeScript 7 reports no error: %s', { timeout: 120_000 }, async (config) => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '--project', config, '--pretty', 'false', '--listFiles'];
  const printed = await promisify(execFile)(process.execPath, args, { cwd: project }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
  const lines = printed.split('\n');
  const errors = lines.filter((line) => /\berror TS\d+/.test(line));
  expect(errors.filter((line) => !/^(\.\.\/|node_modules\/(?!sluice))/.test(line))).toEqual([]);
  for (const file of CONFIGS[config as keyof typeof CONFIGS].files)
    expect(lines).toContain(join(project, dirname(config), file));
});
