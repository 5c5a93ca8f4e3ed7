/** The tests of one target of scripts/mutate.mjs. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: (process.env['MUTATE_TESTS'] ?? '').split(' '),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ['packages/test-support/src/servers.ts'],
    setupFiles: ['packages/sluice/test/support/seed.ts'],
  },
});
