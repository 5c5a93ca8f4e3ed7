// @ts-check
// Every subpath that packages/sluice/package.json exports: has its files, can be imported and required, and offers the
// names listed in packages/sluice/exports.json, so that a change of the API shows up in a diff.
// Needs a build. `--write` writes the list anew.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '../packages/sluice');
const listFile = join(folder, 'exports.json');
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const require = createRequire(import.meta.url);
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const canRequire = (major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22;

/**
 * The names a .d.ts exports, types too; follows `export *`.
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

/** @type {string[]} */
const problems = [];
/** @type {Record<string, { values: string[], types: string[] }>} */
const found = {};

for (const [subpath, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string') {
    if (!existsSync(join(folder, target))) problems.push(`${subpath}: ${target} does not exist`);
    continue;
  }
  const missing = [target.types, target.default].filter((file) => !file || !existsSync(join(folder, file)));
  if (missing.length > 0) {
    problems.push(`${subpath}: ${missing.join(', ') || 'types or default'} does not exist (npm run build?)`);
    continue;
  }
  const specifier = manifest.name + subpath.slice(1);
  try {
    const names = Object.keys(await import(specifier)).sort();
    const types = declaredNames(join(folder, target.types)).filter((name) => !names.includes(name));
    found[subpath] = { values: names, types: [...new Set(types)].sort() };
    if (canRequire) {
      const required = Object.keys(require(specifier))
        .filter((name) => name !== '__esModule')
        .sort();
      if (required.join() !== names.join())
        problems.push(`${subpath}: require() and import() give different names`);
    }
  } catch (error) {
    problems.push(`${subpath}: cannot be loaded: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

if (process.argv.includes('--write') && problems.length === 0) {
  writeFileSync(listFile, `${JSON.stringify(found, null, 2)}\n`);
  console.log('exports: wrote packages/sluice/exports.json');
} else if (problems.length === 0) {
  /** @type {typeof found} */
  const listed = existsSync(listFile) ? JSON.parse(readFileSync(listFile, 'utf8')) : {};
  for (const subpath of new Set([...Object.keys(listed), ...Object.keys(found)]))
    for (const kind of /** @type {const} */ (['values', 'types'])) {
      const before = listed[subpath]?.[kind] ?? [];
      const after = found[subpath]?.[kind] ?? [];
      for (const name of after)
        if (!before.includes(name)) problems.push(`${subpath}: new in ${kind}: ${name}`);
      for (const name of before)
        if (!after.includes(name)) problems.push(`${subpath}: gone from ${kind}: ${name}`);
    }
  if (problems.length > 0) problems.push('If meant: node scripts/check-exports.mjs --write');
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`exports: ${Object.keys(found).length} subpaths load, types and names as listed`);
}
