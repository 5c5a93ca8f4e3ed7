// @ts-check
/** Defines which Markdown files of the repository are pages, their addresses on the site, and their order in the sidebar. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** Files that are not pages, because they are for readers who have the repository. */
export const EXCLUDED = [
  'packages/sluice/README.md',
  '.github/**',
  '.changeset/**',
  'packages/*/test/**',
  'packages/*/test-artefacts/**',
  'benchmarks/*/**',
  'runtimes/**',
  'coverage/**',
];

/** Patterns of files and the pages that they become. The first matching pattern applies. All paths end in .md. */
const ADDRESSES = /** @type {const} */ ([
  [/^site\/index\.md$/, 'index.md'],
  [/^site\/generated\/(.+)$/, '$1'],
  [/^README\.md$/, 'overview.md'],
  [/^CONTRIBUTING\.md$/, 'contributing/index.md'],
  [/^CHANGELOG\.md$/, 'changes.md'],
  [/^SECURITY\.md$/, 'security.md'],
  [/^CODE_OF_CONDUCT\.md$/, 'contributing/code-of-conduct.md'],
  [/^docs\/(.+\/)?README\.md$/, '$1index.md'],
  [/^docs\/(.+)$/, '$1'],
  [/^benchmarks\/RESULTS\.md$/, 'results.md'],
  [/^examples\/README\.md$/, 'examples.md'],
  [/^packages\/sluice\/src\/(algorithms|stores)\/([\w-]+)\/README\.md$/, '$1/$2.md'],
  [/^packages\/sluice\/src\/([\w-]+)\/README\.md$/, '$1.md'],
  [/^packages\/sluice-server\/README\.md$/, 'server.md'],
  [/^packages\/playground\/README\.md$/, 'playground.md'],
  [/^packages\/playground\/LIVE\.md$/, 'live.md'],
]);

/** @param {string} file from the root, with forward slashes */
export function addressOf(file) {
  for (const [from, to] of ADDRESSES) {
    const found = from.exec(file);
    if (found !== null) return to.replace(/\$(\d)/g, (_, group) => found[Number(group)] ?? '');
  }
  return file;
}

/** @param {string} file */
export const textOf = (file) => readFileSync(join(root, file), 'utf8');

/** The heading of a page, without backticks. @param {string} file */
function titleOf(file) {
  return (/^# (.+)$/m.exec(textOf(file))?.[1] ?? file).replaceAll('`', '');
}

/** @param {string} file @param {string} [text] */
function entry(file, text = titleOf(file)) {
  return { text, link: `/${addressOf(file)}` };
}

/** @param {string} folder @param {RegExp} pattern */
function filesIn(folder, pattern) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** The pages of a folder: the pages in `first`, in that order, and then all other pages. @param {string} folder @param {readonly string[]} first */
function folder(folder, first, pattern = /^(?!README)[\w-]+\.md$/) {
  const files = filesIn(folder, pattern);
  const named = first.map((name) => `${folder}/${name}.md`);
  return [...named, ...files.filter((file) => !named.includes(file))].map((file) => entry(file));
}

const GUIDES = [
  'installing',
  'login-protection',
  'api-tiers',
  'llm-tokens',
  'outbound-calls',
  'several-processes',
  'other-languages',
  'deploying',
  'operating',
  'behind-nginx-haproxy',
  'redis-cluster',
  'when-redis-is-down',
  'behind-proxies',
  'code-scanning',
  'headers',
  'testing',
  'metrics',
];

const REFERENCE = ['verbs', 'decision', 'policies', 'options', 'errors'];

const OTHERS = ['examples/README.md', 'SECURITY.md', 'CHANGELOG.md'];

/** @param {readonly string[]} reference the generated pages */
export function sidebar(reference) {
  const source = 'packages/sluice/src';
  return [
    {
      text: 'Start',
      items: [
        entry('docs/start.md'),
        entry('docs/choose.md'),
        entry('README.md', 'Overview'),
        entry('docs/how-it-works.md'),
      ],
    },
    { text: 'Guides', items: folder('docs/guides', GUIDES) },
    {
      text: 'Middlewares',
      items: [
        entry('docs/middleware/README.md', 'Common features'),
        ...folder('docs/middleware', ['express']),
      ],
    },
    {
      text: 'Server and playground',
      items: [
        entry('packages/sluice-server/README.md', 'The server'),
        entry('packages/playground/README.md'),
        entry('packages/playground/LIVE.md'),
      ],
    },
    {
      text: 'Migration',
      items: [
        entry('docs/migrate/README.md'),
        ...folder('docs/migrate', []),
        entry('packages/compat/README.md'),
      ],
    },
    {
      text: 'Algorithms',
      collapsed: true,
      items: folder(`${source}/algorithms`, ['gcra/README'], /^[\w-]+\/README\.md$/),
    },
    {
      text: 'Stores and wrappers',
      collapsed: true,
      items: [
        ...folder(`${source}/stores`, ['memory/README', 'redis/README'], /^[\w-]+\/README\.md$/),
        ...folder(source, [], /^[\w-]+\/README\.md$/),
      ],
    },
    {
      text: 'Reference',
      collapsed: true,
      items: [...folder('docs/reference', REFERENCE), ...reference.map((file) => entry(file))],
    },
    {
      text: 'Errors',
      collapsed: true,
      items: folder('docs/errors', []),
    },
    {
      text: 'Project',
      items: [
        ...folder('docs', ['benchmarks', 'comparison'], /^(?!start|choose|how-it-works)[\w-]+\.md$/),
        entry('benchmarks/RESULTS.md'),
        ...OTHERS.filter((file) => existsSync(join(root, file))).map((file) => entry(file)),
      ],
    },
    {
      text: 'Contributing',
      collapsed: true,
      items: [
        entry('CONTRIBUTING.md'),
        ...folder('docs/contributing', ['architecture', 'algorithms', 'stores', 'tests']),
        entry('CODE_OF_CONDUCT.md'),
      ],
    },
    {
      text: 'Decisions',
      collapsed: true,
      items: [entry('docs/decisions/README.md', 'All'), ...folder('docs/decisions', [])],
    },
  ];
}
