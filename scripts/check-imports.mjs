// @ts-check
// Keeps the arrows of the design: which file of packages/sluice/src may import which, and that the server uses the public
// API. Run: node scripts/check-imports.mjs

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

// ── The rules ────────────────────────────────────────────────────────────────────────────────────────────────────

const ANY = ''; // every path starts with it
const OWN = './'; // the folder just below the rule's prefix: stores/redis/ for a file of stores/redis/
const PUBLIC = '<public>'; // whatever package.json exports

const core = ['contract.ts', 'errors.ts', 'options.ts', 'duration.ts', 'clock.ts', 'warn.ts'];
const stores = [
  'contract.ts',
  'engine.ts',
  'errors.ts',
  'options.ts',
  'clock.ts',
  'digest.ts',
  'warn.ts',
  'stores/table/',
];
const small = [
  ...core,
  'algorithms/',
  'stores/memory/',
  'default-store.ts',
  'placement.ts',
  'verbs.ts',
  'maybe.ts',
];
const limiter = [
  ...small,
  'inherit.ts',
  'kept.ts',
  'limiter.ts',
  'open-names.ts',
  'plan.ts',
  'plans.ts',
  'policy-text.ts',
  'many.ts',
  'waiting.ts',
  'turns.ts',
  'keeping.ts',
];

/** A file or a folder's prefix, and the prefixes it may import. The longest that fits a file counts. */
const rules = {
  'contract.ts': [],
  'mistakes.ts': ['errors.ts'],
  'errors.ts': ['contract.ts', 'mistakes.ts'],
  'digest.ts': [],
  'warn.ts': [],
  'kept.ts': [],
  'maybe.ts': ['contract.ts'],
  'duration.ts': ['contract.ts', 'errors.ts'],
  'options.ts': ['errors.ts', 'duration.ts'],
  'clock.ts': ['contract.ts', 'errors.ts'],
  'engine.ts': ['contract.ts'],
  'layout.ts': ['contract.ts'],
  'placement.ts': ['contract.ts', 'errors.ts', 'digest.ts', 'layout.ts'],
  'open-names.ts': ['contract.ts', 'errors.ts', 'kept.ts'],
  'inherit.ts': ['contract.ts', 'errors.ts', 'engine.ts', 'placement.ts'],
  'default-store.ts': ['contract.ts', 'errors.ts', 'options.ts', 'warn.ts', 'stores/memory/'],
  'verbs.ts': [...core, 'maybe.ts'],
  // What the small entry must not load, it must not import.
  'core.ts': small,
  'algorithms/': ['contract.ts', 'errors.ts', 'duration.ts', 'options.ts', 'algorithms/'],
  'stores/': [...stores, OWN],
  'stores/ipc/': [
    ...stores,
    'duration.ts',
    'inherit.ts',
    'kept.ts',
    'maybe.ts',
    'placement.ts',
    'plan.ts',
    'algorithms/',
    'wrappers/',
    'stores/memory/',
    OWN,
  ],
  'stores/cas/guarded.ts': [...stores, 'duration.ts', 'wrappers/', 'stores/cas/'],
  'stores/postgres/': [...stores, 'duration.ts', 'wrappers/', 'stores/cas/', OWN],
  'stores/redis/redis.ts': [...stores, 'wrappers/', 'stores/redis/'],
  'stores/redis/index.ts': ['wrappers/', 'stores/redis/'],
  'wrappers/': [...core, 'maybe.ts', 'wrappers/'],
  'wrappers/local.ts': [...core, 'stores/memory/', 'wrappers/'],
  'metrics/': ['contract.ts', 'errors.ts', 'options.ts', 'wrappers/metered.ts', 'metrics/'],
  'limiter.ts': limiter,
  'plan.ts': limiter,
  'plans.ts': limiter,
  'policy-text.ts': limiter,
  'many.ts': limiter,
  'waiting.ts': limiter,
  'turns.ts': ['contract.ts', 'clock.ts'],
  'keeping.ts': ['contract.ts', 'maybe.ts'],
  'http/': ['contract.ts', 'digest.ts', 'errors.ts', 'options.ts', 'maybe.ts', 'warn.ts', 'http/'],
  'http/limited-fetch.ts': [...core, 'maybe.ts', 'http/'],
  'middleware/': ['contract.ts', 'errors.ts', 'warn.ts', 'http/', 'middleware/'],
  'compat/': [PUBLIC, 'options.ts', 'duration.ts', 'maybe.ts', 'digest.ts', 'kept.ts', 'compat/'],
  'testing/': [PUBLIC, 'contract.ts', 'errors.ts', 'clock.ts', 'testing/'],
  'index.ts': [ANY],
};

/** Where Node's own modules may be imported; the rest runs in browsers too. */
const nodeAllowed = ['stores/', 'middleware/', 'compat/', 'testing/', 'metrics/diagnostics.ts'];

/** @type {Record<string, string[]>} Frameworks that cannot be served without their own classes: optional peers, imported by nobody else. */
const peersAllowed = { 'middleware/nest.ts': ['@nestjs/common', '@nestjs/core', '@nestjs/websockets'] };

/** Past this many lines a file holds a second idea. Generated files (their first line says so) may be longer. */
const maxLines = 350;

/** @type {Record<string, number>} A drop-in is one file, so this one is as long as the API it replaces: seven classes. */
const longer = { 'compat/rate-limiter-flexible.ts': 650 };

// ── The check ────────────────────────────────────────────────────────────────────────────────────────────────────

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), '../packages/sluice');
const src = join(packageFolder, 'src');
const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
const publicFiles = Object.values(manifest.exports)
  .map((target) => target.default)
  .filter(Boolean)
  .map((file) => file.replace('./dist/', '').replace(/\.js$/, '.ts'));

// At the start of a line or statement, so that a comment or a string that speaks of an import is not one.
const statement =
  /(?:^|;)[ \t]*(import|export)(\s+type\b)?(?:[\s*{][^'"`;=()]*?\bfrom)?\s*['"]([^'"\n]+)['"]/gm;
const dynamic = /\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/g;

/** @param {string} text @returns {{ specifier: string, typeOnly: boolean, late: boolean }[]} */
function importsOf(text) {
  const found = [...text.matchAll(statement)].map((m) => ({
    specifier: m[3] ?? '',
    typeOnly: Boolean(m[2]),
    late: false,
  }));
  const late = [...text.matchAll(dynamic)].map((m) => ({
    specifier: m[1] ?? '',
    typeOnly: false,
    late: true,
  }));
  return [...found, ...late];
}

/** @param {string} folder @returns {string[]} */
function sourcesIn(folder) {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : [];
  return names.map((name) => name.replaceAll('\\', '/')).filter((name) => name.endsWith('.ts'));
}

/** @param {string} file @returns {[prefix: string, allowed: string[]] | undefined} */
function ruleOf(file) {
  const fits = Object.entries(rules).filter(([prefix]) =>
    prefix.endsWith('/') ? file.startsWith(prefix) : file === prefix,
  );
  return fits.sort(([a], [b]) => b.length - a.length)[0];
}

/** @param {string} file @param {string} prefix @param {string[]} allowed */
function expand(file, prefix, allowed) {
  const [below, deeper] = file.slice(prefix.length).split('/');
  const own = deeper === undefined ? prefix : `${prefix}${below}/`;
  return allowed.flatMap((entry) => (entry === OWN ? [own] : entry === PUBLIC ? publicFiles : [entry]));
}

const problems = [];
const files = sourcesIn(src);
for (const file of files) {
  const text = readFileSync(join(src, file), 'utf8');
  const lines = text.split('\n').length - 1;
  const generated = /generated/i.test(text.split('\n', 1)[0] ?? '');
  const most = longer[file] ?? maxLines;
  if (lines > most && !generated) problems.push(`${file}: ${lines} lines\n    rule: at most ${most}`);

  const rule = ruleOf(file);
  if (!rule) {
    problems.push(`${file}: no rule covers it\n    rule: every file has a line in scripts/check-imports.mjs`);
    continue;
  }
  const [prefix, allowed] = rule;
  const allowedPaths = expand(file, prefix, allowed);
  for (const { specifier, typeOnly } of importsOf(text)) {
    if (specifier.startsWith('node:')) {
      if (!nodeAllowed.some((start) => file.startsWith(start)))
        problems.push(`${file} imports ${specifier}\n    rule: node: only in ${nodeAllowed.join(' ')}`);
    } else if (!specifier.startsWith('.')) {
      if (!typeOnly && !peersAllowed[file]?.includes(specifier))
        problems.push(`${file} imports ${specifier}\n    rule: no runtime dependency (import type is fine)`);
    } else {
      const target = posix.join(posix.dirname(file), specifier);
      if (
        !allowedPaths.some((start) =>
          start === ANY || start.endsWith('/') ? target.startsWith(start) : target === start,
        )
      )
        problems.push(
          `${file} imports ${specifier}\n    rule: ${prefix} may import ${allowed.join(' ') || 'nothing'}`,
        );
    }
  }
}

const server = join(packageFolder, '../sluice-server');
const serverManifest = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).map((subpath) => manifest.name + subpath.slice(1));
const serverFiles = sourcesIn(join(server, 'src'));
const serverImports = serverFiles.flatMap((file) =>
  importsOf(readFileSync(join(server, 'src', file), 'utf8')).map((one) => ({
    ...one,
    file,
    target: posix.join(posix.dirname(file), one.specifier),
  })),
);
/** What is loaded with the server itself; all else waits until it is asked for. */
const early = new Set(
  serverImports.filter(({ late, typeOnly }) => !late && !typeOnly).map(({ target }) => target),
);
const { dependencies, optionalDependencies = {}, peerDependencies = {} } = serverManifest;
for (const { file, specifier, target, typeOnly, late } of serverImports) {
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const mayBeMissing = name in optionalDependencies || name in peerDependencies;
  const isAllowed = specifier.startsWith('.')
    ? !target.startsWith('..')
    : specifier.startsWith('node:') ||
      entries.includes(specifier) ||
      (name !== manifest.name && name in dependencies) ||
      (mayBeMissing && (typeOnly || late || !early.has(file)));
  if (!isAllowed)
    problems.push(
      `sluice-server: ${file} imports ${specifier}\n    rule: its own files, what sluice exports, its dependencies; optional ones only where they are asked for`,
    );
}
for (const file of serverFiles) {
  const lines = readFileSync(join(server, 'src', file), 'utf8').split('\n').length - 1;
  if (lines > maxLines)
    problems.push(`sluice-server: ${file}: ${lines} lines\n    rule: at most ${maxLines}`);
}

if (problems.length > 0) {
  console.error(problems.join('\n'));
  console.error(`\n${problems.length} broken arrow${problems.length === 1 ? '' : 's'}`);
  process.exitCode = 1;
} else {
  console.log(`imports: ${files.length + serverFiles.length} files keep the arrows`);
}
