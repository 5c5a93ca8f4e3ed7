// @ts-check
// Checks every subpath that a package exports. It must be importable and requirable, and it must export the names listed in
// exports.json next to package.json, so that a change of the API shows up in a diff. Also checks that package.json has every field
// that follows from its ES modules, and that all peers are optional. Needs a build. `--write` updates the lists and these fields.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commonJsOf, completed, hasCommonJs, moduleOf, typesOf } from './manifest.mjs';

const packages = join(dirname(fileURLToPath(import.meta.url)), '../packages');
const require = createRequire(import.meta.url);

/**
 * The names that a .d.ts file exports, including types. Follows `export *`.
 * @param {string} file
 * @returns {string[]}
 */
function declaredNames(file) {
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '');
  const declaration =
    /^export (?:declare )?(?:abstract )?(?:const|let|var|function|class|interface|type|enum|namespace) (\w+)/gm;
  const names = [...text.matchAll(declaration)].map((m) => m[1] ?? '');
  for (const [, list = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm))
    for (const item of list.split(',')) {
      const name = item.trim().split(/\s+/).at(-1);
      if (name) names.push(name);
    }
  for (const [, alias, from = ''] of text.matchAll(
    /^export (?:type )?\*(?: as (\w+))? from ['"]([^'"]+)['"]/gm,
  ))
    names.push(
      ...(alias ? [alias] : declaredNames(resolve(dirname(file), from.replace(/\.[jt]s$/, '.d.ts')))),
    );
  return names;
}

/** @typedef {Record<string, { values: string[], types: string[] }>} Names the exported names of each subpath */

/** @type {string[]} */
const problems = [];

/** @param {string} folder @returns {Promise<Names>} */
async function namesOf(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  /** @type {Names} */
  const found = {};
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    const specifier = manifest.name + subpath.slice(1);
    const module = moduleOf(target);
    if (module === undefined) continue; // not code; check-package.mjs checks that the file is packed
    try {
      const names = Object.keys(await import(specifier)).sort();
      const types = declaredNames(join(folder, typesOf(module))).filter((one) => !names.includes(one));
      found[subpath] = { values: names, types: [...new Set(types)].sort() };
      // Node loads the ES module for `require(specifier)`, so the CommonJS file is required by its path.
      const commonJs = hasCommonJs(folder) ? [join(folder, commonJsOf(module))] : [];
      for (const required of [specifier, ...commonJs]) {
        const values = Object.keys(require(required)).filter((one) => one !== '__esModule');
        if (values.sort().join() !== names.join())
          problems.push(`${specifier}: require('${required}') and import() return different names`);
      }
    } catch (error) {
      const text = error instanceof Error ? error.stack : String(error);
      problems.push(`${specifier}: cannot be loaded, maybe because it is not built: ${text}`);
    }
  }
  return found;
}

/** @param {string} folder @param {Names} found */
function compare(folder, found) {
  const listFile = join(folder, 'exports.json');
  const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  /** @type {Names} */
  const listed = existsSync(listFile) ? JSON.parse(readFileSync(listFile, 'utf8')) : {};
  for (const subpath of new Set([...Object.keys(listed), ...Object.keys(found)]))
    for (const kind of /** @type {const} */ (['values', 'types'])) {
      const before = listed[subpath]?.[kind] ?? [];
      const after = found[subpath]?.[kind] ?? [];
      const specifier = name + subpath.slice(1);
      for (const one of after)
        if (!before.includes(one)) problems.push(`${specifier}: ${one} is new in ${kind}`);
      for (const one of before)
        if (!after.includes(one)) problems.push(`${specifier}: ${one} is missing from ${kind}`);
    }
}

/** Completes package.json, or reports what it lacks. @param {string} folder */
function checkManifest(folder) {
  const file = join(folder, 'package.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8'));
  const whole = completed(folder, manifest);
  if (JSON.stringify(whole) === JSON.stringify(manifest)) return;
  if (write) writeFileSync(file, `${JSON.stringify(whole, null, 2)}\n`);
  else problems.push(`${file}: fields are missing or outdated. Run: node scripts/check-exports.mjs --write`);
}

const write = process.argv.includes('--write');
for (const name of ['sluice', 'compat', 'sluice-server']) {
  const folder = join(packages, name);
  const before = problems.length;
  checkManifest(folder);
  const found = await namesOf(folder);
  if (problems.length > before) continue;
  if (write) {
    writeFileSync(join(folder, 'exports.json'), `${JSON.stringify(found, null, 2)}\n`);
    console.log(`exports: wrote ${join(folder, 'exports.json')}`);
  } else {
    compare(folder, found);
    if (problems.length > before)
      problems.push('If the change is intended, run: node scripts/check-exports.mjs --write');
  }
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log('exports: every subpath loads and exports the listed names');
}
