// @ts-check
/** Generates the reference from types and comments, with one page per entry point of the packages. */

import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application } from 'typedoc';
import { moduleOf } from '../../scripts/manifest.mjs';
import { summaryOf } from './llms.mjs';
import { root, textOf } from './pages.mjs';
import { faultsOf } from './reference-check.mjs';
import { OPTIONS, tidied } from './reference-form.mjs';
import { aliasTexts, describe, keepNames, order, plain, silent } from './reference-model.mjs';

/** Folder of the generated pages, which git ignores. The site includes these pages, but the tests of the documentation do not. */
const FOLDER = 'site/generated/reference';

/** @typedef {Map<string, string>} Entries source files by entry point, such as 'sluice/redis' */

/** Paths of the pages from the root. Generates them again only if a source has changed. */
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

/** @param {string} folder @returns {{ name: string, private?: boolean, exports: Record<string, import('../../scripts/manifest.mjs').Target> }} */
const manifestOf = (folder) => JSON.parse(textOf(`packages/${folder}/package.json`));

/** The folders of the packages that users can install. `sluice` comes first, because it owns the shared types. */
function publicPackages() {
  const folders = readdirSync(join(root, 'packages')).filter((folder) => !manifestOf(folder).private);
  return ['sluice', ...folders.filter((folder) => folder !== 'sluice')];
}

/** @param {string} folder @returns {[string, string][]} */
function entryPoints(folder) {
  const { name, exports } = manifestOf(folder);
  return Object.entries(exports).flatMap(([path, target]) => {
    const module = moduleOf(target);
    if (module === undefined) return [];
    const source = module.replace('./dist/', `packages/${folder}/src/`).replace(/\.js$/, '.ts');
    return [[path.replace('.', name), join(root, source)]];
  });
}

/** The names in exports.json, by entry point. @param {string} folder @returns {[string, string[]][]} */
function exportedNames(folder) {
  const { name } = manifestOf(folder);
  /** @type {Record<string, { values: string[], types: string[] }>} */
  const exports = JSON.parse(textOf(`packages/${folder}/exports.json`));
  return Object.entries(exports).map(([path, { values, types }]) => [
    path.replace('.', name),
    [...values, ...types],
  ]);
}

/**
 * Generates the pages. Fails if a page mentions a type that has no entry, or if a name has no comment.
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
      // Makes packages import each other's sources, so that the reference has only one entry for each type.
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
    // The entry of a type is on the page of the first entry point that exports it. The other pages link to it.
    .sort((a, b) => names.indexOf(a.displayName) - names.indexOf(b.displayName));
  const project = app.converter.convert(points);
  describe(project, new Map([...entries].map(([name, file]) => [name, headOf(file)])));
  for (const folder of packages) {
    project.packageName = manifestOf(folder).name; // typedoc validates only the names of this package
    app.validate(project);
  }
  const unsaid = silent(project);
  if (unsaid.length > 0) app.logger.error(`these names have no comment: ${unsaid.join(', ')}`);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error('the reference is incomplete');
  plain(project);
  order(project);
  await app.generateOutputs(project);
  // If the paths of an entry point and of a type differ only by case, as those of sluice/store and of the type Store do, typedoc
  // adds a number to the name of the entry point's page.
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
  if (faults.length > 0) throw new Error(`the reference is incomplete:\n${faults.join('\n')}`);
  writeFileSync(join(out, 'index.md'), indexOf(names));
}

/** @param {readonly string[]} names */
function indexOf(names) {
  const rows = names.map((name) => `| [\`${name}\`](${name}.md) | ${summaryOf(textOf(pageOf(name)))} |`);
  return [
    '# Reference',
    '',
    'Every exported name with its type and description, one page per import path.',
    '',
    '| import | |',
    '|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** The comment at the top of a file. @param {string} file */
function headOf(file) {
  const [, comment = ''] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8')) ?? [];
  return comment.replaceAll(/^ *\* ?/gm, '').trim();
}

/** The modification time of the newest file in a folder, in milliseconds. @param {string} folder */
function newest(folder) {
  let latest = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) latest = Math.max(latest, statSync(join(entry.parentPath, entry.name)).mtimeMs);
  return latest;
}
