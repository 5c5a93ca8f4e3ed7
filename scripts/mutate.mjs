// @ts-check
// `npm run mutate -- <target>…`: changes the code of a target in hundreds of small ways, one at a time, and runs the target's
// tests against each change (Stryker). A change that no test notices, a survivor, is printed: either a test is missing or
// the change makes no difference. Without a target, all of them are run, which takes hours. Not a part of `npm test`.

import { availableParallelism } from 'node:os';

const library = 'packages/sluice';
const server = 'packages/sluice-server';

/** What is changed, and the tests that should notice. Fast ones: most of them run once for each change. */
const targets = {
  engine: {
    code: [`${library}/src/engine.ts`],
    tests: [
      'engine',
      'several-plans',
      'algorithms',
      'core',
      'memory',
      'conformance',
      'http/more-after',
      'scale/leased-verbs',
    ].map(ofLibrary),
  },
  table: {
    code: [`${library}/src/stores/table/*.ts`],
    tests: ['memory', 'several-plans', 'plans/tables'].map(ofLibrary),
  },
  resilient: {
    code: [`${library}/src/wrappers/resilient.ts`],
    tests: ['resilient-answers', 'wrappers/give-back', 'redis/late-answers'].map(ofLibrary),
  },
  leases: {
    code: [`${library}/src/wrappers/{leased,key-lease}.ts`],
    tests: ['scale/leased-verbs', 'scale/lease-terms'].map(ofLibrary),
  },
  guard: {
    code: [`${library}/src/http/guard.ts`],
    tests: ['http/guard', 'middleware/fetch', 'middleware/node-http'].map(ofLibrary),
  },
  'client-address': {
    code: [`${library}/src/http/client-address.ts`],
    tests: [ofLibrary('http/client-address')],
  },
  'resp-parser': { code: [`${server}/src/doors/resp-parser.ts`], tests: [ofServer('resp-parser')] },
  config: {
    code: [`${server}/src/config/*.ts`],
    tests: ['config', 'descriptors-format', 'reload-halfway'].map(ofServer),
  },
};

/** @param {string} name */
function ofLibrary(name) {
  return `${library}/test/${name}.test.ts`;
}

/** @param {string} name */
function ofServer(name) {
  return `${server}/test/${name}.test.ts`;
}

const names = process.argv.slice(2);
const unknown = names.filter((name) => !(name in targets));
if (unknown.length > 0) {
  console.error(`unknown target '${unknown[0]}'. Targets: ${Object.keys(targets).join(', ')}`);
  process.exit(1);
}

const { Stryker } = await import('@stryker-mutator/core');
/** @type {string[]} */
const scores = [];
for (const [name, { code, tests }] of Object.entries(targets)) {
  if (names.length > 0 && !names.includes(name)) continue;
  process.env['MUTATE_TESTS'] = tests.join(' ');
  const results = await new Stryker({
    mutate: code,
    // The texts of messages are not worth a test each.
    mutator: { excludedMutations: ['StringLiteral'] },
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'scripts/mutate.vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency: Math.max(1, availableParallelism() - 1),
    // Stryker would rewrite the paths in this file with the API of TypeScript, which version 7 does not have.
    tsconfigFile: 'none.json',
    ignorePatterns: ['/docs', '/site', '/benchmarks', '/examples', '/runtimes'],
    cleanTempDir: 'always',
    reporters: ['clear-text', 'progress-append-only'],
    clearTextReporter: { reportTests: false, logTests: false, reportScoreTable: false },
  }).runMutationTest();
  const count = (/** @type {string[]} */ ...kinds) =>
    results.filter(({ status }) => kinds.includes(status)).length;
  const [killed, survived] = [count('Killed', 'Timeout'), count('Survived', 'NoCoverage')];
  const share = ((100 * killed) / Math.max(1, killed + survived)).toFixed(1);
  scores.push(`${name}: ${killed} of ${killed + survived} changes noticed (${share} %)`);
}
console.log(scores.join('\n'));
