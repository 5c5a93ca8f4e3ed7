/** scripts/release.mjs on a copy of what it touches: what it refuses, what it says, what it writes. Nothing is published. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { root } from 'sluice-test-support/packed.ts';

let copy: string;
const env = {
  ...process.env,
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@example.org',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@example.org',
  // npm itself keeps what it would publish to itself, and builds nothing for it.
  npm_config_dry_run: 'true',
  npm_config_ignore_scripts: 'true',
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_fetch_retries: '0',
};

const git = (...args: string[]) => execFileSync('git', args, { cwd: copy, env, encoding: 'utf8' }).trim();
const text = (file: string) => readFileSync(join(copy, file), 'utf8');
const json = (file: string) => JSON.parse(text(file));

function release(...args: string[]): { status: number | null; said: string } {
  const command = [join(copy, 'scripts/release.mjs'), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { env, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

function committed(): void {
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--message', 'state');
}

const url = 'git+https://git.example.org/sluice.git';

function withRepository(): void {
  const manifest = { ...json('package.json'), repository: { type: 'git', url } };
  writeFileSync(join(copy, 'package.json'), JSON.stringify(manifest));
  committed();
}

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'sluice-release-'));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: object };
  const folders = Object.keys(lock.packages).filter((path) => !path.includes('node_modules/'));
  const manifests = folders
    .map((folder) => join(folder, 'package.json'))
    .filter((file) => existsSync(join(root, file)));
  for (const file of [...manifests, 'package-lock.json', 'CHANGELOG.md', 'README.md', 'scripts/release.mjs'])
    cpSync(join(root, file), join(copy, file));
  git('init', '--quiet');
  committed();
});
afterEach(() => rmSync(copy, { recursive: true, force: true }));

it('a tree with changes is refused', () => {
  appendFileSync(join(copy, 'README.md'), 'more\n');
  expect(release('9.0.0')).toEqual({ status: 1, said: 'release: the tree is not clean: commit first\n' });
});

it.each([
  ['0.0.9', 'not above'],
  ['next', 'no version'],
  ['', 'no version'],
])('a version such as "%s" is refused', (version, why) => {
  const { status, said } = release(version, '--go', '--skip-tests');
  expect(status).toBe(1);
  expect(said).toContain(why);
});

it('a changelog with nothing to say is refused, and so is an unknown flag', () => {
  writeFileSync(
    join(copy, 'CHANGELOG.md'),
    '# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- Old\n',
  );
  committed();
  expect(release('9.0.0').said).toContain('nothing under [Unreleased]');
  expect(release('9.0.0', '--force').said).toContain('--force is not known');
});

it('a rehearsal names every step and changes nothing', () => {
  withRepository();
  const before = git('rev-parse', 'HEAD');
  const { status, said } = release('9.0.0');
  expect(status).toBe(0);
  expect(said).toContain('would npm test');
  expect(said).toContain('would write packages/sluice-server/package.json');
  expect(said).toContain('would commit and tag v9.0.0');
  expect([git('status', '--porcelain'), git('tag'), git('rev-parse', 'HEAD')]).toEqual(['', '', before]);
});

it('a release has one version everywhere, a dated changelog, a commit and a tag; publishing goes in order', {
  timeout: 60_000,
}, () => {
  withRepository();
  expect(release('publish').said).toContain('this commit is not v0.1.0');
  expect(release('9.0.0', '--go', '--skip-tests').status).toBe(0);

  const server = json('packages/sluice-server/package.json');
  expect([server.version, server.dependencies.sluice]).toEqual(['9.0.0', '9.0.0']);
  expect(server.repository).toEqual({ type: 'git', url, directory: 'packages/sluice-server' });
  expect(json('examples/package.json').dependencies.sluice).toBe('9.0.0');
  const lock = json('package-lock.json').packages;
  expect([lock['packages/sluice'].version, lock['packages/sluice-server'].dependencies.sluice]).toEqual([
    '9.0.0',
    '9.0.0',
  ]);
  expect(text('CHANGELOG.md')).toMatch(/## \[Unreleased\]\n\n## \[9\.0\.0\] - \d{4}-\d\d-\d\d\n\n\S/);
  expect([git('status', '--porcelain'), git('tag'), git('log', '-1', '--format=%s')]).toEqual([
    '',
    'v9.0.0',
    'Release 9.0.0',
  ]);
  expect(release('9.0.0', '--go', '--skip-tests').said).toContain('not above');

  const rehearsed = release('publish')
    .said.split('\n')
    .filter((line) => line.startsWith('would '));
  expect(rehearsed).toEqual(
    ['sluice', 'sluice-server'].map((name) => `would npm publish --provenance --workspace ${name}`),
  );
  const { status, said } = release('publish', '--go');
  expect(status).toBe(0);
  const published = said.split('\n').filter((line) => line.startsWith('+ '));
  expect(published).toEqual(['+ sluice@9.0.0', '+ sluice-server@9.0.0']);
  expect(said).toContain('with tag latest and public access (dry-run)');
});

it('nothing is tagged while nobody has said where the repository is, and a rehearsal says so', () => {
  const before = git('rev-parse', 'HEAD');
  const { status, said } = release('9.0.0', '--go', '--skip-tests');
  expect([status, said]).toEqual([
    1,
    'release: the root package.json has no repository, which provenance names\n',
  ]);
  expect([git('status', '--porcelain'), git('tag'), git('rev-parse', 'HEAD')]).toEqual(['', '', before]);
  const rehearsed = release('9.0.0');
  expect(rehearsed.status).toBe(1);
  expect(rehearsed.said).toContain('would commit and tag v9.0.0');
  expect(rehearsed.said).toContain('--go would be refused: the root package.json has no repository');
  expect(rehearsed.said).not.toContain('--go does it');
});

it('nothing is published from a tag without a repository, and a rehearsal says so', () => {
  git('tag', 'v0.1.0');
  const why = 'sluice has no repository: set it in the root package.json';
  for (const flags of [['--go'], []]) {
    const { status, said } = release('publish', ...flags);
    expect(status).toBe(1);
    expect(said).toContain(why);
    expect(said).not.toContain('+ sluice');
  }
  expect(release('publish').said).toContain(`--go would be refused: ${why}`);
});
