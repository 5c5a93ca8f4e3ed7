/** `npm run test:fast`: the tests that start no process and open no socket, so they need nothing but `npm ci`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

const root = import.meta.dirname;
const support = join(root, 'packages/test-support/src/');

/** A file that matches uses a server, another process, another thread or a browser. */
const slow =
  /\binject\(|'(node:(child_process|cluster|net|https?|http2|worker_threads)|playwright-core|miniflare)'/;
const specifier = /\b(?:from|import\()\s*'((?:\.|sluice-test-support\/)[^']+)'/g;
const checked = new Map<string, boolean>();

/** Whether neither this file nor any test helper that it imports, directly or indirectly, matches `slow`. */
function isFast(file: string): boolean {
  const known = checked.get(file);
  if (known !== undefined) return known;
  checked.set(file, true); // ends the recursion when helpers import each other
  const text = readFileSync(file, 'utf8');
  const helpers = [...text.matchAll(specifier)]
    .map(([, name = '']) => resolve(dirname(file), name.replace(/^sluice-test-support\//, support)))
    .filter((name) => /\/(test|test-support)\//.test(name) && existsSync(name));
  const fast = !slow.test(text) && helpers.every(isFast);
  checked.set(file, fast);
  return fast;
}

/** Random and exhaustive tests that need no server but take too long; `npm test` runs them. */
const long =
  /fuzz|properties|\/(calendar|models|synced|picture|leased|lease-terms|long-keys|floods|table)\.test\.ts$/;

const tests = readdirSync(join(root, 'packages'), { withFileTypes: true })
  .map(({ name }) => join(root, 'packages', name, 'test'))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((file) => file.endsWith('.test.ts') && !long.test(file) && isFast(file));

export default defineConfig({
  test: {
    include: tests.map((file) => relative(root, file)),
    setupFiles: ['packages/sluice/test/support/seed.ts'],
    // Vitest's default leaves one core free.
    maxWorkers: availableParallelism(),
    testTimeout: 60_000,
  },
});
