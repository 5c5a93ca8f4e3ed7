import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';

const nest11 = fileURLToPath(new URL('runtimes/nest-11/node_modules/', import.meta.url));

const SOAK = 'packages/sluice/test/soak/soak.test.ts';

/** Set by stryker.config.mjs: the only tests to run. */
const mutated = process.env['MUTATE_TESTS']?.split(' ');
/** A test that uses a server asks for its port. */
const needsServers =
  mutated === undefined || mutated.some((file) => readFileSync(file, 'utf8').includes('inject('));

export default defineConfig({
  test: {
    projects:
      mutated !== undefined
        ? [{ extends: true, test: { include: mutated, isolate: false } }]
        : [
            {
              extends: true,
              test: {
                name: 'all',
                include: ['packages/*/test/**/*.test.ts', 'site/test/**/*.test.ts'],
                exclude: [...configDefaults.exclude, SOAK],
              },
            },
            {
              // Last and alone: the soak counts how many decisions each store makes while faults are injected.
              extends: true,
              test: { name: 'soak', include: [SOAK], sequence: { groupOrder: 1 } },
            },
            {
              // The dependencies have the newest NestJS; this project runs the same tests on the previous major version.
              extends: true,
              resolve: { alias: [{ find: /^@nestjs\/([\w-]+)$/, replacement: `${nest11}@nestjs/$1` }] },
              test: { name: 'nest 11', include: ['packages/sluice/test/middleware/nest.test.ts'] },
            },
          ],
    reporters: ['default'],
    // Most tests wait for servers and processes that they start, so there are more workers than cores.
    maxWorkers: availableParallelism() + 1,
    // Generous, because coverage or a busy machine makes a tight loop ten times slower; a hang is still detected.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    globalSetup: needsServers ? ['packages/test-support/src/servers.ts'] : [],
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
