import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const nest11 = fileURLToPath(new URL('runtimes/nest-11/node_modules/', import.meta.url));

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'all', include: ['packages/*/test/**/*.test.ts', 'site/test/**/*.test.ts'] },
      },
      {
        // The newest NestJS is among the dependencies; here is the one before it.
        extends: true,
        resolve: { alias: [{ find: /^@nestjs\/([\w-]+)$/, replacement: `${nest11}@nestjs/$1` }] },
        test: { name: 'nest 11', include: ['packages/sluice/test/middleware/nest.test.ts'] },
      },
    ],
    reporters: ['default'],
    // Most tests wait for servers and processes that they start: two files at a time, also on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // Coverage makes a tight loop ten times slower, and so does a busy machine; a hang is still found.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    globalSetup: ['packages/test-support/src/servers.ts'],
    setupFiles: ['packages/sluice/test/support/seed.ts'],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // Runs in a browser, where the tests of packages/playground look at it.
      exclude: ['packages/playground/src/{draw,playground,live,ui}/**', 'packages/playground/src/route.ts'],
      reporter: ['text', 'html'],
      thresholds: { lines: 90 },
    },
  },
});
