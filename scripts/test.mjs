// @ts-check
// Implements `npm test`. Runs every check, two at a time, and stops at the first one that fails. The tests run last, so that their
// summary ends the output.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };
const options = { cwd: root, env, shell: process.platform === 'win32' };
const ci = /^(1|true)$/i.test(process.env['CI'] ?? '');

/** The checks that read the sources. The output of a check is shown only if it fails. */
const sourceChecks = [
  ['system packages', 'node scripts/needs.mjs'],
  ['format, lint and import rules (biome)', 'biome check --error-on-warnings'],
  ['lint with types (oxlint)', 'oxlint --type-aware --deny-warnings'],
  ['wording', 'node scripts/check-prose.mjs'],
  ['Lua bundle', 'node scripts/bundle-lua.mjs --check'],
];
/** The checks that read the build. The first three of them update it. */
const buildChecks = [
  ['types and build (tsc)', 'tsc -b'],
  ['page (vite)', 'npm run build --silent --workspace sluice-playground'],
  ['stale outputs', 'node scripts/clean.mjs --stale'],
  ['exports', 'node scripts/check-exports.mjs'],
  ['packages (publint, attw, contents)', 'node scripts/check-package.mjs'],
  ['size budgets (size-limit)', 'size-limit'],
  ['unused code (knip)', 'knip --no-progress'],
];

/** Runs the steps in order. The output of a step is shown only if it fails. @param {string[][]} steps */
async function check(steps) {
  for (const [name, line = ''] of steps) {
    const start = performance.now();
    const [command = '', ...args] = line.split(' ');
    await new Promise((resolve) => {
      execFile(command, args, { ...options, maxBuffer: Infinity }, (error, stdout, stderr) => {
        if (error === null) return resolve(undefined);
        console.error(`${stdout}${stderr}${error.message}\nfailed at: ${name}   (${line})`);
        process.exit(1);
      });
    });
    console.log(`ok  ${name}  ${((performance.now() - start) / 1000).toFixed(1)} s`);
  }
}

await Promise.all([check(sourceChecks), check(buildChecks)]);

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
const file = join(folder, 'report.json');
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
const { status } = spawnSync('vitest', ['run', ...reporters], { ...options, stdio: 'inherit' });

/** @typedef {{ status: string, fullName: string }} Test */
/** @type {{ testResults: { name: string, status: string, assertionResults: Test[] }[] }} */
let report = { testResults: [] };
if (existsSync(file)) report = JSON.parse(readFileSync(file, 'utf8'));
rmSync(folder, { recursive: true, force: true });

const tests = report.testResults.flatMap(({ name, assertionResults }) =>
  assertionResults.map((test) => ({ ...test, place: `${name} > ${test.fullName}` })),
);
const passed = tests.filter((test) => test.status === 'passed').length;
const skipped = tests.filter((test) => !['passed', 'failed'].includes(test.status));
// A file that cannot be loaded is reported as failed, although none of its tests has failed.
const broken = report.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
);
const failed = tests.filter((test) => test.status === 'failed').length + broken.length;

const forbidden = ci ? skipped : [];
if (forbidden.length > 0)
  console.error(
    `In CI, a skipped test counts as a failure:\n  ${forbidden.map((test) => test.place).join('\n  ')}`,
  );
process.exitCode = status === 0 && failed === 0 && forbidden.length === 0 ? 0 : 1;
// After an unhandled error, vitest fails although no test has failed.
console.log(`${passed} passed, ${status !== 0 && failed === 0 ? 1 : failed} failed`);
