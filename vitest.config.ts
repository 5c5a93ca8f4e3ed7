import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/test/**/*.test.ts'],
    reporters: ['default'],
    globalSetup: ['packages/sluice/test/servers.ts'],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // Nothing on the terminal, so that the summary of the tests stays last; `npm run coverage` prints the table.
      reporter: ['json-summary', 'html'],
      thresholds: { lines: 90 },
    },
  },
});
