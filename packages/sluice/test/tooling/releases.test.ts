/** Runs scripts/version.mjs and Changesets on a copy of the manifests. Nothing is published, and no registry is contacted. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';

const PUBLISHED = ['sluice', 'compat', 'sluice-server'];
const url = 'git+https://git.example.org/sluice.git';
let copy: string;

const read = (file: string) => readFileSync(join(copy, file), 'utf8');
const json = (file: string) => JSON.parse(read(file));
function write(file: string, text: string): void {
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  writeFileSync(join(copy, file), text);
}

function version(): { readonly status: number | null; readonly output: string } {
  // Replaces npm, because `npm install` would contact the registry. `npm ci` tests the lock file.
  write('bin/npm', '#!/bin/sh\n');
  chmodSync(join(copy, 'bin/npm'), 0o755);
  const env = { ...process.env, PATH: `${join(copy, 'bin')}:${process.env['PATH']}` };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/version.mjs'], {
    cwd: copy,
    env,
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  const manifests = Object.keys(lock.packages)
    .filter((path) => !path.includes('node_modules/'))
    .map((folder) => join(folder, 'package.json'))
    .filter((file) => existsSync(join(root, file)));
  for (const file of [
    ...manifests,
    'package-lock.json',
    'CHANGELOG.md',
    'scripts/version.mjs',
    'packages/sluice/src/internal/version.ts',
    '.changeset/config.json',
  ])
    cpSync(join(root, file), join(copy, file));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  write('package.json', JSON.stringify({ ...json('package.json'), repository: { type: 'git', url } }));
  execFileSync('git', ['init', '--quiet', '--initial-branch=main'], { cwd: copy });
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

test('a changeset raises the version of all packages and of everything that depends on them', () => {
  const before = json('packages/sluice/package.json').version as string;
  const [major = 0, minor = 0] = before.split('.').map(Number);
  const after = `${major}.${minor + 1}.0`;
  write('.changeset/new-policy.md', `---\nsluice: minor\n---\n\nA new policy.\n`);

  const { status, output } = version();

  expect(status, output).toBe(0);
  for (const name of PUBLISHED) {
    const manifest = json(`packages/${name}/package.json`);
    expect(manifest.version).toBe(after);
    expect(manifest.repository).toEqual({ type: 'git', url, directory: `packages/${name}` });
  }
  expect(read('packages/sluice/src/internal/version.ts')).toContain(`VERSION = '${after}';`);
  expect(json('packages/sluice-server/package.json').dependencies.sluice).toBe(after);
  expect(json('examples/package.json').dependencies.sluice).toBe(after);
  expect(json('benchmarks/package.json').devDependencies.sluice).toBe(after);
  expect(existsSync(join(copy, '.changeset/new-policy.md'))).toBe(false);
  expect(read('CHANGELOG.md')).toMatch(
    new RegExp(
      `## \\[Unreleased\\]\\n\\n## \\[${after.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d\\n\\n\\S`,
    ),
  );
});

test('the first release needs no changeset and uses the current version of the packages', () => {
  const { version: first } = json('packages/sluice/package.json');
  expect(version().status).toBe(0);
  expect(read('CHANGELOG.md')).toContain(`## [${first}] - `);
  expect(version().output).toContain(`${first} is already released and no changeset is pending`);
});

test('a release without notes in the changelog fails', () => {
  write('CHANGELOG.md', '# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- Old\n');
  expect(version().output).toContain('CHANGELOG.md must describe the release');
});

test('a release fails while the root package.json has no repository', () => {
  const { repository: _, ...manifest } = json('package.json');
  write('package.json', JSON.stringify(manifest));
  expect(version().output).toContain('Set "repository" in the root package.json');
});
