/** Finds the tests that start no process and open no socket. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

/** A file that matches this pattern uses a server, another process, another thread or a browser. */
const external =
  /\binject\(|'(node:(child_process|cluster|net|https?|http2|worker_threads)|playwright-core|miniflare)'/;
/** A file that matches this pattern replaces globals or modules, or observes the whole process. */
const global =
  /\bvi\.(mock|resetModules|stub\w+|spyOn|useFakeTimers)\(|\bprocess\.(on|env|memoryUsage)\b|--expose|node:(async_hooks|diagnostics_channel)/;
/**
 * A helper that matches this pattern must be loaded again for each test file, because hooks belong to the file that is being
 * loaded.
 */
const hook = /\b(before|after)(Each|All)\(/;
const specifier = /\b(?:from|import\()\s*'((?:\.|sluice-test-support\/)[^']+)'/g;

/** The texts of a test and of all test helpers that it imports, directly or indirectly. The test comes first. */
function textsOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  const helpers = [...text.matchAll(specifier)]
    .map(([, name = '']) =>
      resolve(dirname(file), name.replace(/^sluice-test-support\//, `${import.meta.dirname}/`)),
    )
    .filter((name) => /\/(test|test-support)\//.test(name) && existsSync(name));
  return [text, ...helpers.flatMap((helper) => textsOf(helper, seen))];
}

const unitTests = readdirSync(join(root, 'packages'))
  .map((name) => join(root, 'packages', name, 'test'))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => ({ name: relative(root, file), texts: textsOf(file) }))
  .filter(({ texts }) => !texts.some((text) => external.test(text)))
  .map(({ name, texts: [own = '', ...helpers] }) => {
    const isShared = ![own, ...helpers].some((text) => global.test(text));
    return { name, isShared: isShared && !helpers.some((text) => hook.test(text)) };
  });

/** Unit tests that can run one after the other in the same process, which saves most of the time that their imports take. */
export const sharedUnitTests: readonly string[] = unitTests
  .filter(({ isShared }) => isShared)
  .map(({ name }) => name);
/** Unit tests that need a process of their own. */
export const isolatedUnitTests: readonly string[] = unitTests
  .filter(({ isShared }) => !isShared)
  .map(({ name }) => name);
