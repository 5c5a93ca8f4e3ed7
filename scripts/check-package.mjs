// @ts-check
// Packs the packages as npm would publish them, runs publint and are-the-types-wrong on the tarballs, and checks that they
// contain the files a user needs and nothing else. Needs a build.

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** The most bytes that a tarball may have, so that it does not grow unnoticed. @type {Record<string, number>} */
const MOST_BYTES = { sluice: 900_000, 'sluice-compat': 120_000 };
const FOLDERS = ['sluice', 'compat', 'sluice-server'];
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };
/** @type {string[]} */
const problems = [];

/** @param {string} command @param {...string} args */
function run(command, ...args) {
  const options = /** @type {const} */ ({
    cwd: root,
    env,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  const { status, stdout, stderr, error } = spawnSync(command, args, options);
  if (status !== 0)
    problems.push(`${command} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
  return stdout ?? '';
}

/** All files that an entry of `exports` names. @param {import('./manifest.mjs').Target} target @returns {string[]} */
const filesIn = (target) =>
  typeof target === 'string' ? [target] : Object.values(target).flatMap((one) => filesIn(one));

/** @param {string} name @param {string} folder @param {readonly string[]} files the paths in the tarball */
function checkFiles(name, folder, files) {
  const text = (/** @type {string} */ file) => readFileSync(join(folder, file), 'utf8');
  const manifest = JSON.parse(text('package.json'));

  const entries = Object.values(manifest.exports).flatMap(filesIn);
  const needed = ['LICENSE', 'README.md', 'CHANGELOG.md', ...entries, ...Object.values(manifest.bin ?? {})];
  for (const file of needed)
    if (!files.includes(posix.normalize(file))) problems.push(`${name}: ${file} is not packed`);

  for (const file of files) {
    if (/\.tsbuildinfo$|(^|\/)(test|coverage|node_modules)\/|\.test\.|^exports\.json$/.test(file))
      problems.push(`${name}: ${file} should not be in the package`);
    if (/\.(js|d\.ts)\.map$/.test(file))
      for (const source of JSON.parse(text(file)).sources) {
        const target = posix.join(posix.dirname(file), source);
        if (!files.includes(target))
          problems.push(`${name}: ${file} refers to ${target}, which is not packed`);
      }
  }

  // Links must work for readers who have only the package, without the repository.
  for (const page of files.filter((file) => file.endsWith('.md')))
    for (const [, link = ''] of text(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g))
      if (!/^[a-z]+:/.test(link) && !files.includes(posix.join(posix.dirname(page), link)))
        problems.push(`${name}: ${page} links to ${link}, which is not packed`);

  if (manifest.publishConfig?.provenance !== true)
    problems.push(`${name}: publishConfig.provenance is not true`);
  if (manifest.sideEffects !== false && manifest.bin === undefined)
    problems.push(`${name}: sideEffects is not false, so bundlers keep unused code`);
}

const changelogs = FOLDERS.map((name) => join(root, 'packages', name, 'CHANGELOG.md'));
const target = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
try {
  // Copies the changelog as the prepack scripts do. The scripts are not run, because their output would mix with the JSON.
  for (const file of changelogs) copyFileSync(join(root, 'CHANGELOG.md'), file);
  const workspaces = FOLDERS.map((name) => `--workspace=packages/${name}`);
  const packed = run(
    'npm',
    'pack',
    '--json',
    '--ignore-scripts',
    ...workspaces,
    `--pack-destination=${target}`,
  );
  /** @type {{ name: string, filename: string, size: number, files: { path: string }[] }[]} */
  const tarballs = problems.length > 0 ? [] : Object.values(JSON.parse(packed));
  for (const [index, { name, filename, size, files }] of tarballs.entries()) {
    if (size > (MOST_BYTES[name] ?? Infinity)) problems.push(`${name}: ${size} bytes, which is too much`);
    const paths = files.map(({ path }) => path);
    checkFiles(name, join(root, 'packages', FOLDERS[index] ?? ''), paths);
    run('publint', 'run', '--strict', join(target, filename));
    const profile = paths.includes('cjs/package.json') ? 'strict' : 'esm-only';
    run('attw', '--profile', profile, '--no-emoji', join(target, filename));
  }
  if (tarballs.length !== FOLDERS.length)
    problems.push(`packed ${tarballs.length} of ${FOLDERS.length} packages`);
} finally {
  for (const file of changelogs) rmSync(file, { force: true });
  rmSync(target, { recursive: true, force: true });
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`packages: publint, attw and the contents of ${FOLDERS.join(', ')} are fine`);
}
