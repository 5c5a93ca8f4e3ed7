// @ts-check
/** The reference: a page per entry point of the packages, from their types and comments. */

import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';
import { summaryOf } from './llms.mjs';
import { root, textOf } from './pages.mjs';
import { faultsOf } from './reference-check.mjs';
import { OPTIONS, tidied } from './reference-form.mjs';
import { aliasTexts, describe, keepNames, order, plain, silent } from './reference-model.mjs';

/** Outside version control; the site finds pages here, tests of pages do not look. */
const FOLDER = 'site/generated/reference';

/** @typedef {Map<string, string>} Entries names such as 'sluice/redis', and the source that each stands for */

/** The pages, from the root. Written anew if a source has changed. */
export async function writeReference() {
  const packages = publicPackages();
  const entries = new Map(packages.flatMap(entryPoints));
  const watched = ['site/lib', ...packages.map((name) => `packages/${name}/src`)];
  const stamp = `${watched.map((folder) => newest(join(root, folder))).join(' ')} ${[...entries.keys()].join()}`;
  const stampFile = join(root, FOLDER, '.stamp');
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
    await generate(packages, entries);
    writeFileSync(stampFile, stamp);
  }
  return [`${FOLDER}/index.md`, ...[...entries.keys()].map(pageOf)];
}

/** @param {string} entry */
const pageOf = (entry) => `${FOLDER}/${entry}.md`;

/** The folders of the published packages, in the order of their names. */
function publicPackages() {
  return readdirSync(join(root, 'packages'))
    .filter((folder) => existsSync(join(root, `packages/${folder}/exports.json`)))
    .sort((a, b) => (npmName(a) < npmName(b) ? -1 : 1));
}

/** @param {string} folder @returns {string} */
const npmName = (folder) => JSON.parse(textOf(`packages/${folder}/package.json`)).name;

/** @param {string} folder @returns {[string, string][]} */
function entryPoints(folder) {
  /** @type {{ exports: Record<string, string | { default: string }>, name: string }} */
  const { exports, name } = JSON.parse(textOf(`packages/${folder}/package.json`));
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return [];
    const source = target.default.replace('./dist/', `packages/${folder}/src/`).replace(/\.js$/, '.ts');
    return [[path.replace('.', name), join(root, source)]];
  });
}

/** The names that check-exports lists. @param {string} folder @returns {[string, string[]][]} */
function exportedNames(folder) {
  /** @type {Record<string, { values: string[], types: string[] }>} */
  const exports = JSON.parse(textOf(`packages/${folder}/exports.json`));
  const name = npmName(folder);
  return Object.entries(exports).map(([path, { values, types }]) => [
    path.replace('.', name),
    [...values, ...types],
  ]);
}

/**
 * Fails where a type is mentioned that has no entry, or where something has no comment.
 * @param {readonly string[]} packages @param {Entries} entries
 */
async function generate(packages, entries) {
  const out = join(root, FOLDER);
  rmSync(out, { recursive: true, force: true });
  const app = await Application.bootstrapWithPlugins(
    /** @type {Partial<import('typedoc').TypeDocOptions>} */ ({
      ...OPTIONS,
      entryPoints: [...entries.values()],
      tsconfig: join(root, 'site/tsconfig.reference.json'),
      // From one package to another by its source: a type has one place.
      compilerOptions: {
        paths: Object.fromEntries([...entries].map(([name, file]) => [name, [file]])),
      },
      outputs: [{ name: 'markdown', path: out }],
    }),
  );
  keepNames(app.converter);
  const aliases = aliasTexts(app.converter);
  const files = new Map([...entries].map(([name, file]) => [file.replaceAll('\\', '/'), name]));
  const names = [...entries.keys()];
  const points = (app.getEntryPoints() ?? [])
    .map((point) => ({ ...point, displayName: files.get(point.sourceFile.fileName) ?? point.displayName }))
    // The first one that exports a type has its entry, the others lead there.
    .sort((a, b) => names.indexOf(a.displayName) - names.indexOf(b.displayName));
  const project = app.converter.convert(points);
  describe(project, new Map([...entries].map(([name, file]) => [name, headOf(file)])));
  for (const name of packages) {
    project.packageName = npmName(name); // typedoc looks at what belongs to this one
    app.validate(project);
  }
  const unsaid = silent(project);
  if (unsaid.length > 0) app.logger.error(`without a comment: ${unsaid.join(', ')}`);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('the reference is not whole');
  plain(project);
  order(project);
  await app.generateOutputs(project);
  // typedoc numbers a page if its path differs from that of a type only by case: sluice/store, and Store of sluice.
  const numbered = names.filter((name) => !existsSync(join(root, pageOf(name))));
  for (const name of numbered) renameSync(join(root, pageOf(`${name}-1`)), join(root, pageOf(name)));
  const unnumbered = (/** @type {string} */ page) =>
    numbered.reduce(
      (text, name) => text.replaceAll(`${name.split('/').at(-1)}-1.md`, `${name.split('/').at(-1)}.md`),
      page,
    );
  /** @type {Map<string, string>} */
  const pages = new Map();
  for (const name of names) {
    const page = tidied(unnumbered(textOf(pageOf(name))), aliases.get(name) ?? new Map());
    writeFileSync(join(root, pageOf(name)), page);
    pages.set(name, page);
  }
  const faults = faultsOf(pages, new Map(packages.flatMap(exportedNames)));
  if (faults.length > 0) throw new Error(`the reference is not whole:\n${faults.join('\n')}`);
  writeFileSync(join(out, 'index.md'), indexOf(names));
}

/** @param {readonly string[]} names */
function indexOf(names) {
  const rows = names.map((name) => `| [\`${name}\`](${name}.md) | ${summaryOf(textOf(pageOf(name)))} |`);
  return [
    '# Reference',
    '',
    'Every name that the packages export, with its type and its comment, a page for each path that can be imported.',
    '',
    '| import | |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** What a file says about itself in its first lines. @param {string} file */
function headOf(file) {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8')) ?? [];
  return comment.replaceAll(/^ *\* ?/gm, '').trim();
}

/** When the youngest file of a folder was written, in ms. @param {string} folder */
function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) latest = Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return latest;
}
