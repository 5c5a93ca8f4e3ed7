/**
 * The documentation is run, not believed. Every ```ts and ```js block of these pages is a module that must load, and
 * every ts block must pass the type check.
 *
 *   // → text            what the block prints, in order; comment lines right below continue it; spaces do not matter
 *   ```ts throws         the block ends with an error; its text is printed last
 *   ```ts no-run         not run; the line above must be <!-- no-run: the reason -->
 *   'redis://localhost'  a real server; each block finds it empty
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import * as sluice from '../src/index.ts';
import * as testing from '../src/testing/index.ts';
import { punctually } from './redis/watch.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const algorithmsFolder = join(root, 'packages/sluice/src/algorithms');
/** Where blocks become files: outside version control and the formatter's reach, and no other run's. */
const workshop = join(root, `.build/docs-${process.pid}`);
/** What readers have on localhost. A database of its own, since the server is shared with other tests. */
const redisUrl = `redis://127.0.0.1:${inject('redisPort')}/15`;
const server = new Redis(redisUrl);

/** Paths with forward slashes, from the root. */
function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory())
      return /^(node_modules|dist|coverage|generated|\..*)$/.test(entry.name) ? [] : markdownIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

const pages = markdownIn('');
const textOf = (page: string) => readFileSync(join(root, page), 'utf8');

// ── Blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Block {
  readonly page: string;
  readonly line: number;
  readonly language: 'ts' | 'js';
  readonly words: readonly string[];
  readonly above: string;
  readonly code: string;
}

function blocksOf(page: string): Block[] {
  const lines = textOf(page).split('\n');
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    const fence = /^```(\w*)\s*(.*)$/.exec(lines[i] ?? '');
    if (fence === null) continue;
    const start = i;
    while (++i < lines.length && lines[i] !== '```');
    if (fence[1] !== 'ts' && fence[1] !== 'js') continue;
    blocks.push({
      page,
      line: start + 1,
      language: fence[1],
      words: (fence[2] ?? '').split(' ').filter((word) => word !== ''),
      above: lines[start - 1] ?? '',
      code: lines.slice(start + 1, i).join('\n'),
    });
  }
  return blocks;
}

const blocks = pages.flatMap(blocksOf);
const runnable = blocks.filter(({ words }) => !words.includes('no-run'));

function fileOf({ page, line, language }: Block): string {
  return join(workshop, `${page.replace(/\W+/g, '-')}-${line}.${language === 'ts' ? 'ts' : 'mjs'}`);
}

const { exports: entries } = JSON.parse(textOf('packages/sluice/package.json')) as {
  exports: Record<string, { default?: string }>;
};

/** Where the sources of 'sluice/http' start. */
function sourceOf(entry: string): string {
  const built = entries[entry.replace('sluice', '.')]?.default;
  if (built === undefined) throw new Error(`${entry} is not exported`);
  return built.replace('./dist/', '').replace(/\.js$/, '.ts');
}

/** As a module that finds the sources where a reader's would find the package. */
function moduleOf({ code }: Block): string {
  const source = (path: string) =>
    `'${relative(workshop, join(root, 'packages/sluice/src', path)).replaceAll('\\', '/')}'`;
  const linked = code
    .replaceAll(/(?<=from )'(sluice(?:\/[\w/-]+)?)'/g, (_, entry: string) => source(sourceOf(entry)))
    .replaceAll(`'redis://localhost'`, `'${redisUrl}'`);
  return `${linked}\nexport {};\n`;
}

function promised(code: string): string[] {
  const promises: string[] = [];
  let open = false;
  for (const line of code.split('\n')) {
    const [, text] = /\/\/ → (.*)$/.exec(line) ?? [];
    const [, more] = /^\s*\/\/(.*)$/.exec(line) ?? [];
    if (text !== undefined) promises.push(text);
    else if (open && more !== undefined) promises.push(`${promises.pop()} ${more}`);
    open = text !== undefined ? /^\s*\/\//.test(line) : open && more !== undefined;
  }
  return promises;
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

let runs = 0;

async function printedBy(block: Block): Promise<string[]> {
  await server.flushdb();
  const printed: string[] = [];
  const log = vi
    .spyOn(console, 'log')
    .mockImplementation((...values: unknown[]) => void printed.push(format(...values)));
  try {
    // A module runs once: each time it has another name.
    runs += 1;
    await import(/* @vite-ignore */ `${pathToFileURL(fileOf(block)).href}?${runs}`);
    expect(block.words, 'should have thrown').not.toContain('throws');
  } catch (error) {
    if (!block.words.includes('throws')) throw error;
    printed.push(String(error));
  } finally {
    log.mockRestore();
  }
  return printed;
}

beforeAll(() => {
  rmSync(workshop, { recursive: true, force: true });
  mkdirSync(workshop, { recursive: true });
  for (const block of runnable) writeFileSync(fileOf(block), moduleOf(block));
  const options = {
    types: ['node'],
    noEmit: true,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
    // Nest.
    experimentalDecorators: true,
  };
  const config = { extends: '../../tsconfig.base.json', compilerOptions: options, include: ['*.ts'] };
  writeFileSync(join(workshop, 'tsconfig.json'), JSON.stringify(config));
});

afterAll(() => {
  server.disconnect();
  rmSync(workshop, { recursive: true, force: true });
});

describe('a code block', () => {
  it.each(runnable.map((block) => [`${block.page}:${block.line}`, block] as const))('runs: %s', (_, block) =>
    // Readers have the usual deadline, and so have the blocks.
    punctually(100, async () => {
      const printed = await printedBy(block);
      const promises = promised(block.code);
      if (promises.length > 0 || block.words.includes('throws'))
        expect(printed.map(plain)).toEqual(promises.map(plain));
    }),
  );

  it('in TypeScript passes the type check', { timeout: 60_000 }, () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', workshop], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it('that is not run says why', () => {
    const silent = blocks.filter(
      ({ words, above }) => words.includes('no-run') && !/^<!-- no-run: .+ -->$/.test(above),
    );
    expect(silent.map(({ page, line }) => `${page}:${line}`)).toEqual([]);
  });
});

// ── Pages ────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('a link', () => {
  /** As GitHub names a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  const anchorsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1]));

  it.each(pages)('resolves: %s', (page) => {
    const text = textOf(page).replaceAll(/^```[\s\S]*?^```$/gm, '');
    const broken = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map((match) => match[1])
      .filter((target) => !/^[a-z]+:/.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? join(root, page) : resolve(root, dirname(page), path);
        if (!existsSync(file)) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(file, 'utf8')).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

describe('an error code', () => {
  const codes = Object.keys(sluice.ERRORS);
  const documented = markdownIn('docs/errors').map((page) => page.replace(/^.*\/|\.md$/g, ''));

  it('has a page, and each page a code', () => {
    expect(documented.toSorted()).toEqual(codes.toSorted());
  });

  it.each(documented)('is explained with what causes it and what to do: %s', (code) => {
    const page = `docs/errors/${code}.md`;
    expect(textOf(page)).toMatch(new RegExp(`^# ${code}\n`));
    expect(textOf(page)).toMatch(/^## What to do$/m);
    const examples = blocksOf(page).filter(({ words }) => words.includes('throws'));
    expect(examples.flatMap((example) => promised(example.code)).join('\n')).toContain(`[${code}]`);
  });
});

describe('an algorithm', () => {
  const folders = readdirSync(algorithmsFolder, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const names = folders.map((entry) => entry.name);
  const headings = ['Rule', 'Picture', 'When to use it', 'At worst', 'Numbers', 'Cells'];
  // By a path that the type check does not follow: the script is JavaScript and belongs to another project.
  const script = pathToFileURL(join(root, 'scripts/draw-algorithms.mjs')).href;
  const drawing = import(/* @vite-ignore */ script) as Promise<{
    readonly PICTURES: Record<string, unknown>;
    readonly render: (name: string, library: object) => string;
  }>;

  it.each(names)('has a page with all its headings and its picture: %s', (name) => {
    const text = textOf(`packages/sluice/src/algorithms/${name}/README.md`);
    expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual(headings);
    expect(text).toContain(`](${name}.svg)`);
  });

  it.each(names)('has a picture that is current and small: %s', async (name) => {
    const { render } = await drawing;
    const file = join(algorithmsFolder, name, `${name}.svg`);
    expect(
      render(name, { ...sluice, ...testing }) === readFileSync(file, 'utf8'),
      'node scripts/draw-algorithms.mjs',
    ).toBe(true);
    expect(statSync(file).size).toBeLessThan(15_000);
  });

  it('has its folder for each picture', async () => {
    expect(Object.keys((await drawing).PICTURES).toSorted()).toEqual(names.toSorted());
  });

  it.each(names)('stands in the table of the README: %s', (name) => {
    expect(textOf('README.md')).toContain(`](packages/sluice/src/algorithms/${name}/README.md)`);
  });
});

describe('the README', () => {
  const verbs = Object.keys(sluice.createLimiter('1/s'));

  it.each(verbs)('has the verb in its table: %s', (verb) => {
    expect(textOf('README.md')).toMatch(new RegExp(`^\\| \`${verb}\\(`, 'm'));
  });

  it.each([
    'allowed',
    'taken',
    'limit',
    'remaining',
    'retryAfter',
    'resetAfter',
    'policy',
    'policies',
    'source',
  ])('explains the field of a decision: %s', (field) =>
    expect(textOf('README.md')).toMatch(new RegExp(`^\\| \`${field}\``, 'm')),
  );
});

describe('a decision record', () => {
  const records = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d/.test(name));

  it('has the next number', () => {
    expect(records.map((name) => Number(name.slice(0, 4)))).toEqual(records.map((_, i) => i + 1));
  });

  it.each(records)('says context, decision and consequences, and is listed: %s', (name) => {
    const text = textOf(`docs/decisions/${name}`);
    expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual([
      'Context',
      'Decision',
      'Consequences',
    ]);
    expect(textOf('docs/decisions/README.md')).toContain(`](${name})`);
  });
});
