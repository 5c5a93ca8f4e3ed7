// @ts-check
// Packs both packages as npm would publish them: publint and are-the-types-wrong judge the tarballs, and what is in them
// is what a stranger needs and nothing else. Needs a build.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGES = ['sluice', 'sluice-compat', 'sluice-server'];

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };
/** @type {string[]} */
const problems = [];

/** @param {string} command @param {...string} args */
const run = (command, ...args) => runIn(root, command, ...args);

/** @param {string} cwd @param {string} command @param {...string} args */
function runIn(cwd, command, ...args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0)
    problems.push(`${command} ${args.join(' ')}\n${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
  return stdout ?? '';
}

/** @param {string} name */
const folderOf = (name) => join(root, 'packages', name === 'sluice-compat' ? 'compat' : name);

/** @param {string} name @param {readonly string[]} files as the tarball has them */
function checkFiles(name, files) {
  const folder = folderOf(name);
  const text = (/** @type {string} */ file) => readFileSync(join(folder, file), 'utf8');
  const manifest = JSON.parse(text('package.json'));

  const entries = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === 'string' ? [entry] : Object.values(entry),
  );
  const needed = ['LICENSE', 'README.md', 'CHANGELOG.md', ...entries, ...Object.values(manifest.bin ?? {})];
  for (const file of needed)
    if (!files.includes(posix.normalize(file))) problems.push(`${name}: ${file} is not packed`);

  for (const file of files) {
    if (/\.tsbuildinfo$|(^|\/)(test|coverage|node_modules)\/|\.test\.|^exports\.json$/.test(file))
      problems.push(`${name}: ${file} is packed, but of no use to anybody`);
    if (/\.(js|d\.ts)\.map$/.test(file))
      for (const source of JSON.parse(text(file)).sources) {
        const target = posix.join(posix.dirname(file), source);
        if (!files.includes(target))
          problems.push(`${name}: ${file} leads to ${target}, which is not packed`);
      }
  }

  // Whoever has the package alone has no repository around it.
  for (const page of files.filter((file) => file.endsWith('.md')))
    for (const [, link = ''] of text(page).matchAll(/\]\(([^)#\s]+)[^)]*\)/g))
      if (!/^[a-z]+:/.test(link) && !files.includes(posix.join(posix.dirname(page), link)))
        problems.push(`${name}: ${page} links to ${link}, which is not packed`);

  if (manifest.publishConfig?.provenance !== true)
    problems.push(`${name}: publishConfig.provenance is not true`);
  if (manifest.sideEffects !== false && manifest.bin === undefined)
    problems.push(`${name}: sideEffects is not false, so bundlers keep what nobody uses`);
}

/** What npm would do before and after, but for the build. @param {...string} flags */
function changelogs(...flags) {
  for (const name of PACKAGES)
    runIn(folderOf(name), process.execPath, join(root, 'scripts/copy-changelog.mjs'), ...flags);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
try {
  changelogs();
  const workspaces = PACKAGES.flatMap((name) => ['--workspace', name]);
  const packed = run(
    'npm',
    'pack',
    '--json',
    '--ignore-scripts',
    ...workspaces,
    '--pack-destination',
    folder,
  );
  /** @type {{ name: string, filename: string, files: { path: string }[] }[]} */
  const tarballs = problems.length > 0 ? [] : Object.values(JSON.parse(packed));
  for (const { name, filename, files } of tarballs) {
    checkFiles(
      name,
      files.map(({ path }) => path),
    );
    run('publint', 'run', '--strict', join(folder, filename));
    run('attw', '--profile', 'esm-only', '--no-emoji', join(folder, filename));
  }
  if (tarballs.length !== PACKAGES.length)
    problems.push(`packed ${tarballs.length} of ${PACKAGES.length} packages`);
} finally {
  changelogs('--undo');
  rmSync(folder, { recursive: true, force: true });
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`package: publint, attw and the contents of ${PACKAGES.join(' and ')}: nothing found`);
}
