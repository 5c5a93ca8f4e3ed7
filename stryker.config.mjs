// @ts-check
// `TARGET=client-address npm run mutate` changes the target's code in hundreds of small ways, one at a time, and runs the
// target's tests against each change (Stryker). It prints every change that no test notices. It is not part of `npm test`.
// docs/contributing/tests.md says how to read the result.

/** @typedef {{ code: string[], tests: string[] }} Target */
/** @param {string} folder @param {string[]} code @param {string[]} tests @returns {Target} */
const target = (folder, code, tests) => ({
  code: code.map((name) => `packages/${folder}/src/${name}.ts`),
  tests: tests.map((name) => `packages/${folder}/test/${name}.test.ts`),
});

/**
 * The code that is changed, and the tests that should notice. Choose fast tests, because most of them run once for each
 * change.
 */
const targets = {
  engine: target(
    'sluice',
    ['engine/decide'],
    [
      'engine/decide',
      'engine/several-plans',
      'algorithms/algorithms',
      'stores/memory/memory',
      'http/more-after',
      'wrappers/leased/leased-verbs',
    ],
  ),
  table: target(
    'sluice',
    ['stores/table/*'],
    ['lookup', 'growth', 'eviction', 'sweep', 'widening', 'fingerprint', 'variable-length-rows'].map(
      (name) => `stores/table/${name}`,
    ),
  ),
  resilient: target(
    'sluice',
    ['wrappers/resilient/*'],
    ['announce', 'answers', 'breaker', 'deadlines', 'fallback', 'give-back', 'late-answers'].map(
      (name) => `wrappers/resilient/${name}`,
    ),
  ),
  leases: target(
    'sluice',
    ['wrappers/leased/*'],
    ['parts', 'node', 'leased-verbs', 'lease-terms'].map((name) => `wrappers/leased/${name}`),
  ),
  guard: target('sluice', ['http/guard'], ['http/guard', 'middleware/fetch', 'middleware/node-http']),
  'client-address': target('sluice', ['http/client-address'], ['http/client-address']),
  'resp-parser': target('sluice-server', ['listeners/resp/parser'], ['listeners/resp/parser']),
  config: target(
    'sluice-server',
    ['config/*'],
    ['config/config', 'config/descriptors-format', 'config/reload-halfway'],
  ),
};

const name = process.env['TARGET'] ?? '';
if (!Object.hasOwn(targets, name))
  throw new Error(`unknown target '${name}'. Set TARGET to one of: ${Object.keys(targets).join(', ')}`);
const { code, tests } = targets[/** @type {keyof typeof targets} */ (name)];
process.env['MUTATE_TESTS'] = tests.join(' '); // for vitest.config.ts

/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  mutate: code,
  // A test for the text of every message is not worth its cost.
  mutator: { excludedMutations: ['StringLiteral'] },
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // After a run that ended at its first failed test, the next run sometimes executes no test, and Stryker reports that its change
  // survived.
  disableBail: true,
  // Several workers would slow each other down, and a test that times out counts as a test that noticed the change.
  concurrency: 1,
  // The file in which `--incremental` keeps the results of earlier runs.
  incrementalFile: `node_modules/.cache/stryker/${name}.json`,
  // Stryker would rewrite the paths in this file with an API that TypeScript 7 does not have.
  tsconfigFile: 'none.json',
  ignorePatterns: ['/docs', '/site', '/benchmarks', '/examples', '/runtimes'],
  cleanTempDir: 'always',
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { reportTests: false, logTests: false },
};
