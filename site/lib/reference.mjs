// @ts-check
/** The reference: a page per entry point of the package, from its types and their comments. */

import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Application, Comment } from 'typedoc';
import { root, textOf } from './pages.mjs';

/** Outside version control; the site finds pages here, tests of pages do not look. */
const FOLDER = 'site/generated/reference';
const SOURCE = 'packages/sluice/src';

/** The pages, from the root. Written anew if a source has changed. */
export async function writeReference() {
  const entries = entryPoints();
  const stamp = `${newest(join(root, SOURCE))} ${newest(join(root, 'site/lib'))} ${entries.size}`;
  const stampFile = join(root, FOLDER, '.stamp');
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
    await generate(entries);
    writeFileSync(stampFile, stamp);
  }
  return [`${FOLDER}/index.md`, ...[...entries.keys()].map((name) => `${FOLDER}/${name}.md`)];
}

/** Names such as 'sluice/redis', and the source that each stands for. */
function entryPoints() {
  /** @type {{ exports: Record<string, string | { default: string }> }} */
  const { exports } = JSON.parse(textOf('packages/sluice/package.json'));
  /** @type {Map<string, string>} */
  const entries = new Map();
  for (const [path, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue;
    const source = target.default.replace('./dist/', `${SOURCE}/`).replace(/\.js$/, '.ts');
    entries.set(path.replace('.', 'sluice'), join(root, source));
  }
  return entries;
}

/** @param {string} file */
const moduleOf = (file) => file.slice(join(root, SOURCE).length + 1).replace(/(?<=.)\/index\.ts$|\.ts$/, '');

/** @param {Map<string, string>} entries */
async function generate(entries) {
  const out = join(root, FOLDER);
  rmSync(out, { recursive: true, force: true });
  const app = await Application.bootstrapWithPlugins(
    /** @type {Partial<import('typedoc').TypeDocOptions>} */ ({
      entryPoints: [...entries.values()],
      tsconfig: join(root, 'site/tsconfig.reference.json'),
      plugin: ['typedoc-plugin-markdown'],
      outputs: [{ name: 'markdown', path: out }],
      router: 'module',
      readme: 'none',
      name: 'Reference',
      entryFileName: 'index',
      excludeInternal: true,
      excludePrivate: true,
      excludeExternals: true,
      disableSources: true,
      disableGit: true,
      skipErrorChecking: true,
      logLevel: 'Error',
      hideBreadcrumbs: true,
      hidePageHeader: true,
      hideGroupHeadings: true,
      useCodeBlocks: true,
      useCustomAnchors: true,
      parametersFormat: 'table',
      interfacePropertiesFormat: 'table',
      classPropertiesFormat: 'table',
      typeDeclarationFormat: 'table',
      propertyMembersFormat: 'table',
      tableColumnSettings: { hideModifiers: true, hideInherited: true },
      typeDeclarationVisibility: 'compact',
      sort: ['alphabetical'],
      groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables'],
    }),
  );
  const project = await app.convert();
  if (project === undefined) throw new Error('the reference could not be made');
  // typedoc names a module after its file: 'stores/redis', or 'index'.
  const names = new Map([...entries].map(([name, file]) => [moduleOf(file), name]));
  for (const module of project.children ?? []) {
    module.name = names.get(module.name) ?? module.name;
    const about = headOf(entries.get(module.name) ?? '');
    if (about !== '') module.comment = new Comment([{ kind: 'text', text: about }]);
  }
  await app.generateOutputs(project);
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
