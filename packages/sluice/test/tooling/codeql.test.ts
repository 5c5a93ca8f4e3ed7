/** Checks the CodeQL model pack against the format that CodeQL documents and against the exports. CodeQL itself does not run here. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { reading } from 'sluice-test-support/docs/reading.ts';
import { root } from 'sluice-test-support/packed.ts';

interface Pack {
  readonly name: string;
  readonly library: boolean;
  readonly extensionTargets: Readonly<Record<string, string>>;
  readonly dataExtensions: readonly string[];
  readonly dependencies?: unknown;
}

interface Models {
  readonly extensions: readonly {
    readonly addsTo: { readonly pack: string; readonly extensible: string };
    readonly data: readonly (readonly string[])[];
  }[];
}

/** Packages that the query recognizes, and to which a data extension can map an export of another package. */
const KNOWN_TO_QUERY = ['express-rate-limit', 'express-brute', 'express-limiter', 'rate-limiter-flexible'];

const read = (file: string): unknown => parse(readFileSync(join(root, file), 'utf8'));
const pack = read('codeql/qlpack.yml') as Pack;
const files = readdirSync(join(root, 'codeql/models'));
const extensions = files.flatMap((file) => (read(`codeql/models/${file}`) as Models).extensions);
const rows = extensions.flatMap(({ data }) => data);
const filter = reading('docs/guides/code-scanning.md')('yaml', 'query-filters');

/** Names of the values that a module of this repository exports. */
function exportsOf(module: string): readonly string[] | undefined {
  const [name, ...path] = module.split('/');
  const folder = name === 'sluice-compat' ? 'compat' : name;
  const file = join(root, 'packages', folder, 'exports.json');
  const exported = JSON.parse(readFileSync(file, 'utf8')) as Record<string, { values: string[] }>;
  return exported[['.', ...path].join('/')]?.values;
}

describe('the CodeQL model pack', () => {
  test('is a library without dependencies that extends the JavaScript analysis', () => {
    expect(pack).toMatchObject({ library: true, extensionTargets: { 'codeql/javascript-all': '*' } });
    expect(pack.name).toMatch(/^[a-z][a-z0-9-]*\/[a-z][a-z0-9-]*$/);
    expect(pack.dependencies).toBeUndefined();
  });

  test('includes every model file', () => {
    expect(pack.dataExtensions).toEqual(['models/*.model.yml']);
    expect(files).not.toEqual([]);
    for (const file of files) expect(file).toMatch(/^\w+\.model\.yml$/);
  });

  test('only adds types, as rows of three strings', () => {
    for (const { addsTo } of extensions)
      expect(addsTo).toEqual({ pack: 'codeql/javascript-all', extensible: 'typeModel' });
    for (const row of rows) expect(row.map((cell) => typeof cell)).toEqual(['string', 'string', 'string']);
  });

  test.each(rows.map(([known, module, path]) => ({ known, module, path })))(
    'defines $known by an export that exists: $module $path',
    ({ known, module, path }) => {
      expect(KNOWN_TO_QUERY).toContain(known);
      const [, member] = /^(?:Member\[(\w+)\])?$/.exec(path) ?? expect.fail(`unexpected path ${path}`);
      if (module === known) return;
      const exported = exportsOf(module);
      expect(exported).toBeDefined();
      if (member !== undefined) expect(exported).toContain(member);
    },
  );
});

test('the filter in the guide on code scanning excludes the query about missing rate limits', () => {
  expect(parse(filter)).toEqual({ 'query-filters': [{ exclude: { id: 'js/missing-rate-limiting' } }] });
});
