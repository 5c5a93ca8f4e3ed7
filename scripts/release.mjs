// @ts-check
// Releases in two steps, each only rehearsed unless `--go` is given:
//
//   node scripts/release.mjs 0.2.0        tests, then versions, the changelog, a commit and a tag
//   node scripts/release.mjs publish      npm publish with provenance, sluice first; where CI runs the tag
//
// Provenance names the repository: the field `repository` of the root package.json is the one place for its address.
// `--skip-tests`: CI has just run them on this commit.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** In the order in which they need each other. */
const PUBLISHED = ['sluice', 'sluice-server'];
const FLAGS = ['--go', '--dry-run', '--skip-tests'];

class Refusal extends Error {}

/** @type {string[]} What a rehearsal met and the real thing would not survive. */
const obstacles = [];

/** Refused if it is meant; a rehearsal goes on, and ends with it. @param {boolean} isSo @param {string} why @param {boolean} go */
function demand(isSo, why, go) {
  if (isSo) return;
  if (go) throw new Refusal(why);
  obstacles.push(why);
}

/** @param {string} command @param {...string} args */
function output(command, ...args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Refusal(`${command} ${args.join(' ')} failed\n${stderr}`);
  return stdout.trim();
}

/** @param {string} command @param {...string} args */
function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Refusal(`${command} ${args.join(' ')} failed`);
}

/** @param {string} file */
const read = (file) => readFileSync(join(root, file), 'utf8');
/** @param {string} file */
const json = (file) => JSON.parse(read(file));

/** @param {string} version */
function numbers(version) {
  const [, ...parts] = /^(\d+)\.(\d+)\.(\d+)$/.exec(version) ?? [];
  if (parts.length === 0) throw new Refusal(`${version} is no version such as 1.2.3`);
  return parts.map(Number);
}

/** @param {string} a @param {string} b */
function isHigher(a, b) {
  const [left, right] = [numbers(a), numbers(b)];
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && (left[at] ?? 0) > (right[at] ?? 0);
}

/** What stands under Unreleased gets a version and a date. @param {string} text @param {string} version @param {string} date */
function changelog(text, version, date) {
  const heading = '## [Unreleased]\n';
  const [before = '', after] = text.split(heading);
  if (after === undefined) throw new Refusal('CHANGELOG.md has no [Unreleased]');
  if (after.split(/^## /m)[0]?.trim() === '')
    throw new Refusal('CHANGELOG.md has nothing under [Unreleased]');
  return `${before}${heading}\n## [${version}] - ${date}\n${after}`;
}

/** The new text of every file that names the version. @param {string} version @param {string | undefined} repository */
function edits(version, repository) {
  const lock = json('package-lock.json');
  const workspaces = Object.keys(lock.packages).filter(
    (path) => !/^$|(^|\/)node_modules\//.test(path) && existsSync(join(root, path, 'package.json')),
  );
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const folder of workspaces) {
    const manifest = json(`${folder}/package.json`);
    for (const one of [manifest, lock.packages[folder]]) {
      if (one.version !== undefined) one.version = version;
      for (const kind of ['dependencies', 'devDependencies'])
        for (const name of PUBLISHED) if (one[kind]?.[name] !== undefined) one[kind][name] = version;
    }
    if (repository !== undefined && PUBLISHED.includes(manifest.name))
      manifest.repository = { type: 'git', url: repository, directory: folder };
    texts.set(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
  }
  texts.set('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
  texts.set('CHANGELOG.md', changelog(read('CHANGELOG.md'), version, new Date().toISOString().slice(0, 10)));
  return [...texts].filter(([file, text]) => text !== read(file));
}

/** @param {string} version @param {(what: string, act: () => void) => void} step @param {boolean} go @param {boolean} tested */
function prepare(version, step, go, tested) {
  const current = json('packages/sluice/package.json').version;
  const tags = output('git', 'tag', '--list');
  // The first release has the version that the packages carry from the start.
  if (!isHigher(version, current) && !(tags === '' && version === current))
    throw new Refusal(`${version} is not above ${current}`);
  if (tags.split('\n').includes(`v${version}`)) throw new Refusal(`the tag v${version} is there already`);
  const { repository } = json('package.json');
  // Nobody could publish the commit that is tagged.
  demand(repository !== undefined, 'the root package.json has no repository, which provenance names', go);
  const files = edits(version, repository?.url ?? repository);
  if (!tested) step('npm test', () => run('npm', 'test'));
  for (const [file, text] of files) step(`write ${file}`, () => writeFileSync(join(root, file), text));
  const names = files.map(([file]) => file);
  step(`commit and tag v${version}`, () => {
    run('git', 'commit', '--quiet', '--message', `Release ${version}`, '--', ...names);
    run('git', 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`);
  });
}

/** @param {string} spec */
const isPublished = (spec) =>
  spawnSync('npm', ['view', spec, 'version'], { encoding: 'utf8' }).stdout.trim() !== '';

/** @param {(what: string, act: () => void) => void} step @param {boolean} go */
function publish(step, go) {
  const { version } = json('packages/sluice/package.json');
  if (!output('git', 'tag', '--points-at', 'HEAD').split('\n').includes(`v${version}`))
    throw new Refusal(`this commit is not v${version}`);
  for (const name of PUBLISHED) {
    demand(
      json(`packages/${name}/package.json`).repository !== undefined,
      `${name} has no repository: set it in the root package.json before the release`,
      go,
    );
    // Whoever runs this again after a fault goes on where it stopped.
    if (go && isPublished(`${name}@${version}`)) console.log(`${name}@${version} is published already`);
    else
      step(`npm publish --provenance --workspace ${name}`, () =>
        run('npm', 'publish', '--provenance', '--access', 'public', '--workspace', name),
      );
  }
}

try {
  const [what = '', ...rest] = process.argv.slice(2);
  const unknown = rest.find((flag) => !FLAGS.includes(flag));
  if (unknown !== undefined) throw new Refusal(`${unknown} is not known; known: ${FLAGS.join(' ')}`);
  const go = rest.includes('--go') && !rest.includes('--dry-run');
  if (output('git', 'status', '--porcelain') !== '') throw new Refusal('the tree is not clean: commit first');
  /** @param {string} name @param {() => void} act */
  const step = (name, act) => {
    console.log(`${go ? '' : 'would '}${name}`);
    if (go) act();
  };
  if (what === 'publish') publish(step, go);
  else prepare(what, step, go, rest.includes('--skip-tests'));
  if (!go) console.log(`nothing was changed${obstacles.length === 0 ? '; --go does it' : ''}`);
  if (obstacles.length > 0) throw new Refusal(`--go would be refused: ${obstacles.join('; ')}`);
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`release: ${error.message}`);
  process.exitCode = 1;
}
