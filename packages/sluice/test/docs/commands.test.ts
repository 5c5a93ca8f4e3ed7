/**
 * Checks the commands that the pages tell readers to run. Commands of this repository must exist, including their flags. All
 * other commands are run by the test that reads their page (reading.ts). Every kind of block must be covered by some test.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { duration } from '../../src/internal/duration.ts';
import { type Block, blocksOf, pages, root, textOf } from 'sluice-test-support/docs/blocks.ts';
import { commandsIn, isOfRepository, needsReader } from 'sluice-test-support/docs/reading.ts';

const blocks = pages.flatMap(blocksOf);
const tests = ['packages', 'site']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules/'));

interface Manifest {
  readonly name: string;
  readonly workspaces?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const manifestOf = (folder: string): Manifest => JSON.parse(textOf(join(folder, 'package.json'))) as Manifest;
/** Folders of the workspaces in package-lock.json, and the root. */
const locked = (JSON.parse(textOf('package-lock.json')) as { packages: Record<string, Manifest> }).packages;
const folders = Object.keys(locked).filter((path) => !path.includes('node_modules/'));

// ── Commands ─────────────────────────────────────────────────────────────────────────────────────────────────────

function workspace(name: string): string {
  const folder = folders.find((path) => manifestOf(path).name === name);
  if (folder === undefined) throw new Error(`there is no workspace ${name}`);
  return folder;
}

/** Expects the script to exist, and each program, file or script that it names. */
function checkScript(name: string, folder = ''): void {
  const script = manifestOf(folder).scripts?.[name];
  if (script === undefined) throw new Error(`${folder}/package.json has no script ${name}`);
  for (const command of script.split(' && ')) {
    const [program = '', first = ''] = command.split(' ');
    const [, inner, other = ''] = /^npm run ([\w:]+).* --workspace (\S+)/.exec(command) ?? [];
    if (inner !== undefined) checkScript(inner, workspace(other));
    else if (program === 'npm') check(command);
    else if (program === 'node') expect(existsSync(join(root, folder, first)), command).toBe(true);
    else expect(existsSync(join(root, 'node_modules/.bin', program)), command).toBe(true);
  }
}

/** Adds an unknown flag. If the other arguments are valid, the error is about that flag. */
function checkArguments(file: string, args: string): void {
  const { stderr } = spawnSync(process.execPath, [file, ...args.split(' '), '--nobody-knows-it'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(stderr).toContain(`Unknown option '--nobody-knows-it'`);
}

function checkBenchmark(args: string): void {
  checkArguments('benchmarks/run.mjs', args);
  for (const suite of args.split(' ').filter((word) => !word.startsWith('--')))
    expect(existsSync(join(root, 'benchmarks', suite, 'suite.mjs')), suite).toBe(true);
}

function checkSoak(args: string): void {
  checkArguments('packages/sluice/test/soak/run.mjs', args);
  duration('--for', /--for (\S+)/.exec(args)?.[1] ?? '1s');
}

/** The configuration throws for an unknown target. The files that it lists for the target must exist. */
function checkMutate(target: string): void {
  const program = `const { default: { mutate } } = await import('./stryker.config.mjs');
    console.log([...mutate, ...process.env.MUTATE_TESTS.split(' ')].join(' '));`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, TARGET: target },
  });
  expect(status, stderr).toBe(0);
  for (const file of stdout.trim().split(' '))
    expect(existsSync(join(root, file.replace(/\*\.ts$/, ''))), file).toBe(true);
}

/**
 * Expects a test file at or below the path, and the title in one of these files. The titles of docs.test.ts contain the
 * names of pages, so these names count as well.
 */
function checkTests(path = '', title = ''): void {
  const there = tests.filter((file) => file === path || file.startsWith(path === '' ? '' : `${path}/`));
  expect(there, path).not.toEqual([]);
  const titles = there.flatMap((file) => textOf(file).match(/\b(test|it|describe)\b.*\(\s*[`'"].*/g) ?? []);
  if (there.includes('packages/sluice/test/docs/docs.test.ts')) titles.push(...pages);
  expect(
    titles.filter((line) => line.includes(title)),
    title,
  ).not.toEqual([]);
}

/** Expects package-lock.json to match the manifests; otherwise `npm ci` would fail. */
function checkLock(): void {
  for (const folder of folders)
    for (const field of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'])
      expect(locked[folder]?.[field], `${folder} ${field}`).toEqual(manifestOf(folder)[field]);
}

/** Every command of this repository has one of these forms. */
const FORMS: readonly (readonly [RegExp, (...groups: string[]) => void])[] = [
  [/^npm ci$/, checkLock],
  [/^npm (?:run )?([\w:]+)$/, (script) => checkScript(script)],
  [/^npm run ([\w:]+) -w (\S+)$/, (script, name) => checkScript(script, workspace(name))],
  [/^npm run bench -- (.+)$/, checkBenchmark],
  [/^npm run soak -- (.+)$/, checkSoak],
  [/^TARGET=(\S+) npm run mutate(?: -- --(?:incremental|mutate \S+))?$/, checkMutate],
  [/^npx changeset(?: (?:version|status|publish|add))?$/, () => checkScript('changeset')],
  [
    /^(?:SEED=\d+ )?npx vitest(?: run)?(?: ([\w./-]+))?(?: -t (?:'(.+)'|(\S+)))?$/,
    (path, ...titles) => checkTests(path, titles.join('')),
  ],
  [
    /^node ((?:scripts|site\/pictures)\/[\w-]+\.mjs)( --write)?$/,
    (file) => expect(existsSync(join(root, file)), file).toBe(true),
  ],
];

function check(command: string): void {
  for (const part of command.split(' && ')) {
    const fits = FORMS.flatMap(([form, look]) => {
      const match = form.exec(part);
      return match === null ? [] : [() => look(...match.slice(1))];
    });
    expect(fits.length, `no check covers this form of command: ${part}`).toBeGreaterThan(0);
    fits[0]?.();
  }
}

const commands = blocks.filter(({ language }) => language === 'sh').flatMap(({ code }) => commandsIn(code));
/** Commands mentioned within a sentence. */
const mentioned = pages
  .flatMap((page) => [...textOf(page).matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? ''))
  .filter((code) => isOfRepository(code));

test.each([...new Set([...commands.filter(isOfRepository), ...mentioned])])('the command exists: %s', check);

test('the check reports a command that does not exist or has an unknown flag', () => {
  for (const wrong of [
    'npm run tset',
    'npm run build -w sluice-playgroud',
    'npm run bench -- memroy',
    'npm run bench -- memory --quik',
    'npm run soak -- --for 30x',
    'npm run soak -- --fro 30s',
    'TARGET=enigne npm run mutate',
    'npx vitest run packages/sluice/test/wating.test.ts',
    "npx vitest run packages/sluice/test/sixteen-bugs -t '5. awards'",
    'npm run build && npm publish',
    'node scripts/check-export.mjs',
  ])
    expect(() => check(wrong), wrong).toThrow();
});

test.each([
  ['CONTRIBUTING.md', 'fails below 90 % of all lines', 'vitest.config.ts', 'thresholds: { lines: 90 }'],
  [
    'docs/contributing/tests.md',
    '# ten minutes of mixed load',
    'packages/sluice/test/soak/run.mjs',
    `default: '10m'`,
  ],
  [
    'README.md',
    'its page is on http://127.0.0.1:8080',
    'packages/sluice-server/src/cli/serve-options.ts',
    '{ http: 8080, grpc: 8081, resp: 6380 }',
  ],
])('%s describes the command correctly: %s', (page, words, file, proof) => {
  expect(textOf(page)).toContain(words);
  expect(textOf(file)).toContain(proof);
});

// ── Kinds of blocks ──────────────────────────────────────────────────────────────────────────────────────────────

const placeOf = ({ page, line }: Block): string => `${page}:${line}`;

describe('a block in the documentation', () => {
  test('is in a language that the tests cover, or shows output or a drawing', () => {
    const known = ['', 'ts', 'js', 'sh', 'yaml', 'json', 'lua', 'nginx', 'diff', 'python', 'go'];
    expect(blocks.filter(({ language }) => !known.includes(language)).map(placeOf)).toEqual([]);
  });

  test('that is neither code nor a command of this repository is covered by a test that reads its page', () => {
    const read = tests
      .map(textOf)
      .flatMap((text) => [...text.matchAll(/\breading\('(.+?)'\)/g)].map((match) => match[1]));
    const unread = blocks.filter((block) => needsReader(block) && !read.includes(block.page));
    expect(unread.map(placeOf)).toEqual([]);
  });
});
