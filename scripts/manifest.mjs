// @ts-check
// The fields of a package.json that say which files each subpath loads. They follow from one list: the ES module of each subpath.
// The CommonJS build has the same files in `cjs` instead of `dist`.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {Record<string, any>} Manifest the contents of a package.json
 * @typedef {string | { [condition: string]: Target }} Target
 */

/** Whether a package has a CommonJS build. @param {string} folder */
export const hasCommonJs = (folder) => existsSync(join(folder, 'cjs/package.json'));

/** The ES module of an entry of `exports`, or undefined if the entry is not code. @param {Target} target @returns {string | undefined} */
export function moduleOf(target) {
  if (typeof target === 'string') return target.endsWith('.js') ? target : undefined;
  return moduleOf(target['import'] ?? target['default'] ?? '');
}

/** The type declarations of a module. @param {string} file */
export const typesOf = (file) => file.replace(/\.js$/, '.d.ts');
/** The CommonJS version of a module. @param {string} file */
export const commonJsOf = (file) => file.replace('./dist/', './cjs/');

/** Returns the manifest with all fields that follow from the ES modules in its `exports`. @param {string} folder @param {Manifest} manifest @returns {Manifest} */
export function completed(folder, manifest) {
  const { main: _, types: __, typesVersions: ___, ...rest } = manifest;
  /** @type {[subpath: string, target: Target][]} */
  const entries = Object.entries(manifest['exports']);
  const exports = Object.fromEntries(
    entries.map(([subpath, target]) => [subpath, conditions(folder, moduleOf(target)) ?? target]),
  );
  if (!hasCommonJs(folder)) return { ...manifest, exports };
  // A version range for an optional peer would only make npm refuse to install the package beside other versions of the peer.
  const optional = Object.keys(manifest['peerDependencies']).filter((name) => name !== 'sluice');
  for (const name of optional) rest['peerDependencies'] = { ...rest['peerDependencies'], [name]: '*' };
  if (optional.length > 0)
    rest['peerDependenciesMeta'] = Object.fromEntries(optional.map((name) => [name, { optional: true }]));

  // These fields are for TypeScript with `moduleResolution: node` and for tools that do not read `exports`.
  const root = manifest['exports']['.'] && moduleOf(manifest['exports']['.']);
  const old = {
    ...(root && { main: commonJsOf(root), types: typesOf(commonJsOf(root)) }),
    typesVersions: {
      '*': Object.fromEntries(
        entries.flatMap(([subpath, target]) => {
          const module = moduleOf(target);
          return subpath === '.' || module === undefined
            ? []
            : [[subpath.slice(2), [typesOf(commonJsOf(module))]]];
        }),
      ),
    },
  };
  return Object.fromEntries(
    Object.entries(rest).flatMap(([field, value]) =>
      field === 'exports' ? [...Object.entries(old), ['exports', exports]] : [[field, value]],
    ),
  );
}

/** @param {string} folder @param {string | undefined} module */
function conditions(folder, module) {
  if (module === undefined) return undefined;
  const both = (/** @type {string} */ file) => ({ types: typesOf(file), default: file });
  if (!hasCommonJs(folder)) return both(module);
  // `module-sync` comes first. Only Node versions that can require() ES modules support this condition, and they then load the
  // same copy for import and for require().
  return { 'module-sync': both(module), import: both(module), require: both(commonJsOf(module)) };
}
