import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sharedUnitTests } from './packages/test-support/src/unit-tests.ts';

const nest11 = fileURLToPath(new URL('runtimes/nest-11/node_modules/', import.meta.url));

const SOAK = 'packages/sluice/test/soak/soak.test.ts';
const globalSetup = ['packages/test-support/src/servers.ts'];

/**
 * Files that take long for their size. On a machine without earlier results, Vitest would start the smallest files last, and
 * would wait for these files at the end while the other workers are idle.
 */
const long =
  /\/(processes|connections|differential|conformance|lost-replies|silent|places|refusals|restarts|replies|runtimes|typescripts|jests|installs|site|looks|live|playground|nest|express|fastify-rate-limit|reload|process|examples|drain-load|jests|installs|cloudflare|openapi|clients|mysql|dynamodb)\.test\.ts$/;

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => long.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

/** The only tests to run. stryker.config.mjs sets this environment variable. */
const mutated = process.env['MUTATE_TESTS']?.split(' ');
/** Whether one of these tests uses a shared server. Such a test asks for the server's port. */
const needsServers = mutated?.some((file) => readFileSync(file, 'utf8').includes('inject(')) ?? false;

export default defineConfig({
  test: {
    projects:
      mutated !== undefined
        ? [
            {
              extends: true,
              test: { include: mutated, isolate: false, globalSetup: needsServers ? globalSetup : [] },
            },
          ]
        : [
            {
              // Tests without isolation are a separate group, because Vitest reuses a process only if the next file is not
              // isolated either.
              extends: true,
              test: { name: 'unit', include: [...sharedUnitTests], isolate: false },
            },
            {
              extends: true,
              test: {
                name: 'all',
                include: ['packages/*/test/**/*.test.ts', 'site/test/**/*.test.ts'],
                exclude: [...configDefaults.exclude, ...sharedUnitTests, SOAK],
                sequence: { groupOrder: 1 },
                globalSetup,
              },
            },
            {
              // The dependencies have the newest NestJS; this project runs the same tests on the previous major version.
              extends: true,
              resolve: { alias: [{ find: /^@nestjs\/([\w-]+)$/, replacement: `${nest11}@nestjs/$1` }] },
              test: {
                name: 'nest 11',
                include: ['packages/sluice/test/middleware/nest.test.ts'],
                sequence: { groupOrder: 1 },
                globalSetup,
              },
            },
            {
              // The soak runs last and alone, because it counts how many decisions each store makes while faults are injected.
              extends: true,
              test: { name: 'soak', include: [SOAK], sequence: { groupOrder: 2 }, globalSetup },
            },
          ],
    reporters: ['default'],
    sequence: { sequencer: LongFilesFirst },
    // Most tests wait for servers and processes that they start, so there are more workers than cores.
    maxWorkers: availableParallelism() + 1,
    // The timeout is long, because coverage or a busy machine makes a tight loop ten times slower. A hang is still detected.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    setupFiles: ['packages/sluice/test/support/seed.ts'],
    coverage: {
      provider: 'v8',
      include: ['packages/*/src/**/*.ts'],
      // This code runs in a browser, and the tests of packages/playground check it in a browser.
      exclude: ['packages/playground/src/{draw,playground,live,ui}/**', 'packages/playground/src/route.ts'],
      reporter: ['text', 'html'],
      thresholds: { lines: 90 },
    },
  },
});
