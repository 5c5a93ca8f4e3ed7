/** `npm run test:fast`: the tests that start no process and open no socket, so they need nothing but `npm ci`. */
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { isolatedUnitTests, sharedUnitTests } from './packages/test-support/src/unit-tests.ts';

/** Random and exhaustive tests that need no server but take too long; `npm test` runs them. */
const long =
  /fuzz|properties|\/(calendar|models|synced|picture|leased|lease-terms|leases-of-leases|long-keys|floods|table|deny-cache|overdue|more-after|taker|attempt|many|classes|deaths|several-plans|refunds|classdojo-random|fingerprint)\.test\.ts$/;
const isShort = (file: string): boolean => !long.test(file);

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: { name: 'unit', include: sharedUnitTests.filter(isShort), isolate: false },
      },
      {
        // Isolated tests are a separate group, because Vitest reuses a process only if the next file is not isolated either.
        extends: true,
        test: {
          name: 'isolated',
          include: isolatedUnitTests.filter(isShort),
          sequence: { groupOrder: 1 },
        },
      },
    ],
    setupFiles: ['packages/sluice/test/support/seed.ts'],
    // Vitest's default leaves one core free.
    maxWorkers: availableParallelism(),
    testTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
  },
});
