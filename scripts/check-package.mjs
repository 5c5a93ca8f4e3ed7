// @ts-check
// Packs packages/sluice as npm would publish it and lets publint and are-the-types-wrong judge the tarball. Needs a build.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const folder = mkdtempSync(join(tmpdir(), 'sluice-pack-'));
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };

/** @param {string} command @param {...string} args */
function run(command, ...args) {
  const result = spawnSync(command, args, {
    cwd: root,
    env,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (result.status === 0) return;
  console.error(
    `${command} ${args.join(' ')}\n${result.stdout ?? ''}${result.stderr ?? ''}${result.error ?? ''}`,
  );
  process.exitCode = 1;
}

try {
  run('npm', 'pack', '--ignore-scripts', '--workspace', 'sluice', '--pack-destination', folder);
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball) {
    run('publint', 'run', '--strict', join(folder, tarball));
    run('attw', '--profile', 'esm-only', '--no-emoji', join(folder, tarball));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (!process.exitCode) console.log('package: publint and attw find nothing');
