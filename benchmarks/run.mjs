/**
 * Runs benchmarks: `npm run bench -- [suite…] [--quick]`. Every suite is a folder with a suite.mjs that exports `run(options)`,
 * which returns the text of its section in RESULTS.md. Without a name, all suites run.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machine, writeSection } from './report.mjs';

const here = new URL('.', import.meta.url);
const suites = readdirSync(here).filter((name) => existsSync(new URL(`${name}/suite.mjs`, here)));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !suites.includes(name));
if (unknown.length > 0) {
  console.error(`unknown suite ${unknown.join(', ')}; must be one of ${suites.join(', ')}`);
  process.exit(1);
}

// Measure the library as users get it, compiled and from a current build.
const build = spawnSync('npx', ['tsc', '-b'], { cwd: new URL('..', here), stdio: 'inherit' });
if (build.status !== 0) process.exit(1);

for (const name of positionals.length > 0 ? positionals : suites) {
  const started = Date.now();
  const { run } = await import(`./${name}/suite.mjs`);
  const before = machine(`npm run bench -- ${name}`);
  const section = await run({ quick: values.quick });
  const took = `${Math.round((Date.now() - started) / 1000)} s`;
  console.log(`\n${section}\n${name}: ${took}`);
  if (values.quick)
    console.log(
      'This was a smoke test with too few checks for the figures to mean anything. Nothing was written.',
    );
  else writeSection(name, `${before} · took ${took}\n\n${section}`);
}
