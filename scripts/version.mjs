// @ts-check
// Implements `npm run release:version`, which prepares a release. It applies the pending changesets to the versions of all
// packages and to the constant in the library, moves the "Unreleased" section of CHANGELOG.md under the new version, copies the project's address into the published
// packages and updates package-lock.json. It only changes files, which the release pull request commits.

import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** @param {string} file */
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));
/** @param {string} command @param {...string} args */
const run = (command, ...args) => execFileSync(command, args, { stdio: 'inherit' });

// Only the root package.json holds the address, but npm provenance requires it in every published package.
const { repository, homepage, bugs } = json('package.json');
if (repository === undefined)
  throw new Error(
    'Set "repository" in the root package.json, as { "type": "git", "url": "…" }, before the first release.',
  );

run('npx', '--no-install', 'changeset', 'version');
const { version } = json('packages/sluice/package.json');
const changelog = readFileSync('CHANGELOG.md', 'utf8');
// The first release has no changeset, because it uses the version that the packages started with.
if (changelog.includes(`## [${version}]`))
  throw new Error(`${version} is already released and no changeset is pending. Add one with: npx changeset`);

const [head, notes = ''] = changelog.split('## [Unreleased]\n');
if (/^\s*(## |$)/.test(notes))
  throw new Error('CHANGELOG.md must describe the release under "## [Unreleased]".');
const date = new Date().toISOString().slice(0, 10);
writeFileSync('CHANGELOG.md', `${head}## [Unreleased]\n\n## [${version}] - ${date}\n${notes}`);

const constant = 'packages/sluice/src/internal/version.ts';
writeFileSync(constant, readFileSync(constant, 'utf8').replace(/'.*'/, `'${version}'`));

for (const name of readdirSync('packages')) {
  const file = `packages/${name}/package.json`;
  if (!existsSync(file) || json(file).private) continue;
  const manifest = {
    ...json(file),
    repository: { ...repository, directory: `packages/${name}` },
    homepage,
    bugs,
  };
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}
run('npm', 'install', '--package-lock-only', '--ignore-scripts');
