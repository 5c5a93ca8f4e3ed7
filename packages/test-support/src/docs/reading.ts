/**
 * Blocks in TypeScript and JavaScript are run by docs.test.ts, commands of the repository are looked at by
 * commands.test.ts; all others belong to a test that reads their page, and has to read all of them.
 */
import { expect, test } from 'vitest';
import { type Block, blocksOf } from './blocks.ts';

/** Lines of a block of commands, without what is said about them. */
export function commandsIn(code: string): string[] {
  return code
    .split('\n')
    .map((line) => line.replace(/\s+# .*$/, ''))
    .filter((line) => line !== '');
}

/** What is typed in a checkout. */
export function isOfRepository(command: string): boolean {
  return command
    .split(' && ')
    .every((part) =>
      /^([A-Z]+=\S+ )?(npm (ci|test|start|run)|npx (vitest|changeset)|node (scripts|site\/pictures)\/)\b/.test(
        part,
      ),
    );
}

/** Whether it needs a test that reads its page. */
export function needsReader({ language, code }: Block): boolean {
  if (language === 'ts' || language === 'js') return false;
  return language !== 'sh' || !commandsIn(code).every(isOfRepository);
}

/**
 * Finds the one block of a language in which the words stand. To be asked while tests are collected: it adds a test
 * that fails if the page has a block which needs a reader and was not asked for.
 */
export function reading(page: string): (language: string, words: string) => string {
  const blocks = blocksOf(page);
  const left = new Set(blocks.filter(needsReader));
  test(`${page}: no block is left out`, () => {
    expect([...left].map(({ line }) => `${page}:${line}`)).toEqual([]);
  });
  return (language, words) => {
    const fits = blocks.filter((block) => block.language === language && block.code.includes(words));
    const [block] = fits;
    if (block === undefined || fits.length > 1)
      throw new Error(`${page}: ${fits.length} blocks of ${language} with "${words}"`);
    left.delete(block);
    return block.code;
  };
}
