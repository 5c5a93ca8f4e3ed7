import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const nest11 = fileURLToPath(new URL('runtimes/nest-11/node_modules/', import.meta.url));

/** Set by stryker.config.mjs: the only tests to run. */
const mutated = process.env['MUTATE_TESTS']?.split(' ');

export default defineConfig({
  test: {
    projects:
      mutated !== undefined
        ? [{ extends: true, test: { include: mutated } }]
        : [
            {
              extends: true,
              test: { name: 'all', include: ['packages/*/test/**/*.test.ts', 'site/test/**/*.test.ts'] },
            },
            {
              // The dependencies have the newest NestJS; this project runs the same tests on the previous major version.
              extends: true,
              resolve: { alias: [{ find: /^@nestjs\/([\w-]+)$/, replacement: `${nest11}@nestjs/$1` }] },
              test: { name: 'nest 11', include: ['packages/sluice/test/middleware/nest.test.ts'] },
            },
          ],
    reporters: ['default'],
    // Most tests wait for servers and processes that they start, so run at least two files at a time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Generous, because coverage or a busy machine makes a tight loop ten times slower; a hang is still detected.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    globalSetup: ['packages/test-support/src/servers.ts'],
    setupFiles: ['packages/sluice/test/support/seed.ts'],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // Runs in a browser; the tests of packages/playground check it there.
      exclude: ['packages/playground/src/{draw,playground,live,ui}/**', 'packages/playground/src/route.ts'],
      reporter: ['text', 'html'],
      thresholds: { lines: 90 },
    },
  },
});
