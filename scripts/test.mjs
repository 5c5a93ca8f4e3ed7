// @ts-check
// `npm test`: every check in order, stopping at the first that fails; the tests come last, and their summary ends the output.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** @type {NodeJS.ProcessEnv} */
const env = { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) };
const ci = /^(1|true)$/i.test(process.env['CI'] ?? '');

/** A step's output is shown only when it fails, but for a line that begins with 'warning:'. */
const steps = [
  ['what the tests need', 'node scripts/needs.mjs'],
  ['format and lint (biome)', 'biome check --error-on-warnings'],
  ['lint with types (oxlint)', 'oxlint --type-aware --deny-warnings'],
  ['types and build (tsc)', 'tsc -b'],
  ['stale outputs', 'node scripts/clean.mjs --stale'],
  ['Lua bundle', 'node scripts/bundle-lua.mjs --check'],
  ['import arrows', 'node scripts/check-imports.mjs'],
  ['exports', 'node scripts/check-exports.mjs'],
  ['packages (publint, attw, contents)', 'node scripts/check-package.mjs'],
  ['size of every entry (size-limit)', 'size-limit'],
  ['unused code (knip)', 'knip --no-progress'],
  ['known weaknesses (npm audit)', 'node scripts/audit.mjs'],
];

/** @param {string} line @param {'inherit' | 'pipe'} stdio */
function run(line, stdio) {
  const [command = '', ...args] = line.split(' ');
  return spawnSync(command, args, {
    cwd: root,
    env,
    stdio,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
}

for (const [name, line = ''] of steps) {
  const start = performance.now();
  const { status, stdout, stderr, error } = run(line, 'pipe');
  if (status !== 0) {
    console.error(`${stdout ?? ''}${stderr ?? ''}${error ?? ''}\nfailed at: ${name}   (${line})`);
    process.exit(1);
  }
  console.log(`ok  ${name}  ${((performance.now() - start) / 1000).toFixed(1)} s`);
  for (const warning of stdout.match(/^warning:.*$/gm) ?? []) console.log(`    ${warning}`);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-test-'));
const file = join(folder, 'counts.json');
env['SLUICE_TEST_COUNTS'] = file;
const { status } = run('vitest run --reporter=default --reporter=./scripts/count-reporter.mjs', 'inherit');

/** @type {import('./count-reporter.mjs').Counts} */
let counts = { passed: 0, failed: 1, skipped: [] }; // stays so when vitest itself falls over
if (existsSync(file)) counts = JSON.parse(readFileSync(file, 'utf8'));
rmSync(folder, { recursive: true, force: true });

const forbidden = ci ? counts.skipped : [];
if (forbidden.length > 0) console.error(`In CI a skipped test is a failure:\n  ${forbidden.join('\n  ')}`);
process.exitCode = status === 0 && counts.failed === 0 && forbidden.length === 0 ? 0 : 1;
console.log(`${counts.passed} passed, ${counts.failed} failed`);
