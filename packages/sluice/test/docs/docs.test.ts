/**
 * Runs the documentation. Every ```ts and ```js block of every page is a module that must load, and every ts block must
 * pass the type check. No block can opt out.
 *
 *   // → text            expected output, in order; comment lines directly below continue it; whitespace is ignored
 *   // name.ts           on the first line: the block is a file with this name, in the same folder as the other blocks of its
 *                        page. If another block starts it with `new URL('./name.js', …)`, it runs only when that block starts it
 *   ```ts throws         the block ends with an error, whose message counts as the last line of output
 *   ```ts process        runs in its own process, which is stopped at the end; lines may be printed in any order
 *   ```ts serves         runs in its own process, and answers GET / with hello until the limit is reached, then with 429
 *   ```ts bun            runs in its own process on this runtime (bun, deno, workerd) instead of Node; several may be named
 *
 * docs/machine.ts replaces the servers and paths of a reader's machine with real ones.
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

/** Blocks are written to this folder, which Git and the formatter ignore, and which no other run uses. */
const workshop = join(root, `.build/docs-${process.pid}`);

/** Declares the globals of other runtimes that blocks use, because the types of those runtimes are not installed. */
const GLOBALS = `
type Answer = Response | Promise<Response>;
declare const Bun: {
  serve(options: { fetch(request: Request, server: { requestIP(request: Request): unknown }): Answer }): unknown;
};
declare const Deno: {
  serve(handler: (request: Request, info: { remoteAddr: unknown }) => Answer): unknown;
};`;

/**
 * In milliseconds. Blocks use the default deadlines, as readers do. If a block fails and timers of this process were late by
 * more than this, the block is run again, because the threads and processes that it waits for were even later.
 */
const LATE = 20;

const blocks = pages.flatMap(blocksOf).filter(({ language }) => /^(ts|js)$/.test(language));

/** Kinds of blocks that run in their own process. */
const APART: readonly string[] = ['process', 'serves', ...RUNTIMES];

const isApart = ({ words }: Block) => words.some((word) => APART.includes(word));
const has = ({ words }: Block, word: string) => words.includes(word);
const checkOf = ({ page, name }: Block) => CHECKS[name === undefined ? page : `${page} ${name}`];

/** The files that a block starts by name. */
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

/** Writes a block as a module whose imports of the package resolve to the sources. */
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
    // A module runs only once per URL, so each import gets a different one.
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

/** Runs a block in its own process. Concurrent output has no fixed order, so its lines are sorted. */
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
    // If the process failed, its own error says more than the one thrown here.
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
    // Nest's decorators require this option.
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

  it.each(apart)('runs: %s, in its own process, on %s', (_, runtime, block) =>
    punctually(LATE, async () => {
      const printed = await printedApart(block, runtime);
      const promises = promisedApart(block);
      if (promises.length > 0) expect(printed.map(plain)).toEqual(promises.map(plain).toSorted());
    }),
  );

  it('that runs in its own process serves requests, has a check, or promises output', () => {
    const idle = apart.filter(
      ([, , block]) =>
        !has(block, 'serves') && checkOf(block) === undefined && promisedApart(block).length === 0,
    );
    expect(idle.map(([title]) => title)).toEqual([]);
  });

  it.each(Object.entries(CHECKS))('exists for the check of %s', (_, check) => {
    expect(apart.map(([, , block]) => checkOf(block))).toContain(check);
  });

  it('uses only keywords that the comment at the top of this test explains', () => {
    const words = new Set(blocks.flatMap((block) => block.words));
    expect([...words].filter((word) => word !== 'throws' && !APART.includes(word))).toEqual([]);
  });

  it('in JavaScript or TypeScript is marked as js or ts, so that it is run', () => {
    const languages = new Set(pages.flatMap(blocksOf).map(({ language }) => language));
    const scripts = [...languages].filter((name) => /^([cm]?[jt]sx?|\w*script|node)$/i.test(name));
    expect(scripts.toSorted()).toEqual(['js', 'ts']);
  });
});
