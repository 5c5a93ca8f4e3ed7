/**
 * The documentation is run, not believed. Every ```ts and ```js block of every page is a module that must load, and every
 * ts block must pass the type check. There is no word that spares a block.
 *
 *   // → text            what the block prints, in order; comment lines right below continue it; spaces do not matter
 *   // name.ts           as the first line: the block is a file of this name, beside the other blocks of its page. One
 *                        that another block starts as `new URL('./name.js', …)` runs there and not by itself
 *   ```ts throws         the block ends with an error; its text is printed last
 *   ```ts process        it has a process of its own, which is stopped in the end; lines are printed in any order
 *   ```ts serves         so has this one. It answers GET / with hello until it has had enough, then with 429
 *   ```ts bun            so has this one, on that runtime, and not on Node: bun, deno, workerd; on each of several
 *
 * Servers and paths of a reader's machine are replaced by real ones: docs/machine.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Block, blocksOf, pages, promised, root, sourceOf } from 'sluice-test-support/docs/blocks.ts';
import { CHECKS, refusesInTheEnd } from './checks.ts';
import { newPlace, onThisMachine, stopMachine } from './machine.ts';
import { RUNTIMES, type Runtime, start } from './running.ts';
import { listening } from 'sluice-test-support/redis/server.ts';
import { punctually, until } from 'sluice-test-support/redis/watch.ts';

/** Where blocks become files: outside version control and the formatter's reach, and no other run's. */
const workshop = join(root, `.build/docs-${process.pid}`);

/** As much of the other runtimes as blocks use; their own types are not installed. */
const GLOBALS = `
type Answer = Response | Promise<Response>;
declare const Bun: {
  serve(options: { fetch(request: Request, server: { requestIP(request: Request): unknown }): Answer }): unknown;
};
declare const Deno: {
  serve(handler: (request: Request, info: { remoteAddr: unknown }) => Answer): unknown;
};`;

/**
 * Milliseconds. Readers have the usual deadlines, and so have the blocks. Where this process was late by some, the threads
 * and processes that blocks wait for were by more.
 */
const LATE = 20;

const blocks = pages.flatMap(blocksOf).filter(({ language }) => /^(ts|js)$/.test(language));

/** Those that need a process of their own. */
const APART: readonly string[] = ['process', 'serves', ...RUNTIMES];

const isApart = ({ words }: Block) => words.some((word) => APART.includes(word));
const has = ({ words }: Block, word: string) => words.includes(word);
const checkOf = ({ page, name }: Block) => CHECKS[name === undefined ? page : `${page} ${name}`];

/** The files that it starts by their names. */
function startedBy({ page, code }: Block): Block[] {
  return blocks.filter(
    ({ page: its, name }) => its === page && name !== undefined && code.includes(`new URL('./${name}.js'`),
  );
}

const started = new Set(blocks.flatMap(startedBy));
const own = blocks.filter((block) => !started.has(block));
const titled = (block: Block) => `${block.page}:${block.line}`;
const together = own.filter((block) => !isApart(block)).map((block) => [titled(block), block] as const);
const apart = own.filter(isApart).flatMap((block) => {
  const runtimes: readonly Runtime[] = RUNTIMES.filter((runtime) => has(block, runtime));
  return (runtimes.length === 0 ? (['node'] as const) : runtimes).map(
    (runtime) => [titled(block), runtime, block] as const,
  );
});

const folderOf = ({ page }: Block) => join(workshop, page.replaceAll(/\W+/g, '-'));

function fileOf(block: Block): string {
  return join(folderOf(block), `${block.name ?? block.line}.${block.language === 'ts' ? 'ts' : 'mjs'}`);
}

/** As a module that finds the sources where a reader's would find the package. */
function write(block: Block, code: string): void {
  const linked = code.replaceAll(/(?<=from )'(sluice(?:\/[\w/-]+)?)'/g, (_, entry: string) => {
    const path = relative(folderOf(block), sourceOf(entry));
    return `'${path.replaceAll('\\', '/')}'`;
  });
  writeFileSync(fileOf(block), `${linked}\nexport {};\n`);
}

const plain = (text: string) => text.replaceAll(/\s+/g, ' ').trim();

let imports = 0;

async function printedBy(block: Block): Promise<string[]> {
  write(block, await onThisMachine(block, await newPlace()));
  const printed: string[] = [];
  const log = vi
    .spyOn(console, 'log')
    .mockImplementation((...values: unknown[]) => void printed.push(format(...values)));
  try {
    // A module runs once: each time it has another name.
    imports += 1;
    await import(/* @vite-ignore */ `${pathToFileURL(fileOf(block)).href}?${imports}`);
    expect(block.words, 'should have thrown').not.toContain('throws');
  } catch (error) {
    if (!has(block, 'throws')) throw error;
    printed.push(String(error));
  } finally {
    log.mockRestore();
  }
  return printed;
}

const promisedApart = (block: Block) => [block, ...startedBy(block)].flatMap(({ code }) => promised(code));

/** In a process of its own. Those who print side by side do so in any order, so it is the alphabetical one. */
async function printedApart(block: Block, runtime: Runtime): Promise<string[]> {
  const place = await newPlace();
  const others = startedBy(block);
  for (const one of [block, ...others]) write(one, await onThisMachine(one, place));
  const running = await start(runtime, fileOf(block), place.port, others.map(fileOf));
  try {
    if (has(block, 'serves')) {
      await listening(place.port, running.child);
      await refusesInTheEnd(place.port);
    }
    await checkOf(block)?.(place);
    const lines = promisedApart(block).length;
    await until(() => running.isOver() || running.failure() !== undefined || running.lines().length >= lines);
  } finally {
    await running.stop();
    // If it failed, then this says more about it than what was thrown here.
    expect(running.failure()).toBeUndefined();
  }
  return running.lines().toSorted();
}

beforeAll(() => {
  rmSync(workshop, { recursive: true, force: true });
  for (const block of blocks) {
    mkdirSync(folderOf(block), { recursive: true });
    write(block, block.code);
  }
  const options = {
    types: ['node'],
    noEmit: true,
    allowImportingTsExtensions: true,
    noUnusedLocals: false,
    // Nest.
    experimentalDecorators: true,
  };
  const config = { extends: '../../tsconfig.base.json', compilerOptions: options, include: ['**/*.ts'] };
  writeFileSync(join(workshop, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(workshop, 'runtimes.d.ts'), GLOBALS);
});

afterAll(async () => {
  await stopMachine();
  rmSync(workshop, { recursive: true, force: true });
});

describe('a code block', () => {
  it('in TypeScript passes the type check', { timeout: 60_000 }, () => {
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', workshop], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it.each(together)('runs: %s', (_, block) =>
    punctually(LATE, async () => {
      const printed = await printedBy(block);
      const promises = promised(block.code);
      if (promises.length > 0 || has(block, 'throws'))
        expect(printed.map(plain)).toEqual(promises.map(plain));
    }),
  );

  it.each(apart)('runs: %s, in a process of its own, on %s', (_, runtime, block) =>
    punctually(LATE, async () => {
      const printed = await printedApart(block, runtime);
      const promises = promisedApart(block);
      if (promises.length > 0) expect(printed.map(plain)).toEqual(promises.map(plain).toSorted());
    }),
  );

  it('in a process of its own serves, is checked, or promises something', () => {
    const idle = apart.filter(
      ([, , block]) =>
        !has(block, 'serves') && checkOf(block) === undefined && promisedApart(block).length === 0,
    );
    expect(idle.map(([title]) => title)).toEqual([]);
  });

  it.each(Object.entries(CHECKS))('is there for the check of %s', (_, check) => {
    expect(apart.map(([, , block]) => checkOf(block))).toContain(check);
  });

  it('has no word but those that are explained above', () => {
    const words = new Set(blocks.flatMap((block) => block.words));
    expect([...words].filter((word) => word !== 'throws' && !APART.includes(word))).toEqual([]);
  });

  it('does not hide behind another name of its language', () => {
    const languages = new Set(pages.flatMap(blocksOf).map(({ language }) => language));
    const scripts = [...languages].filter((name) => /^([cm]?[jt]sx?|\w*script|node)$/i.test(name));
    expect(scripts.toSorted()).toEqual(['js', 'ts']);
  });
});
