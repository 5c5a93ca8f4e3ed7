/** The tests of one target of scripts/mutate.mjs. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: (process.env['MUTATE_TESTS'] ?? '').split(' '),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ['packages/sluice/test/servers.ts'],
    setupFiles: ['packages/sluice/test/seed.ts'],
  },
});
