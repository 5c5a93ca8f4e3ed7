/**
 * Ensures that every code block in the documentation is tested. docs.test.ts runs the blocks in TypeScript and JavaScript, and
 * commands.test.ts checks the commands that readers run in a checkout. Every other block must be read by a test for its page.
 */
import { expect, test } from 'vitest';
import { type Block, blocksOf } from './blocks.ts';

/** The commands of a block, without comments. */
export function commandsIn(code: string): string[] {
  return code
    .split('\n')
    .map((line) => line.replace(/\s+# .*$/, ''))
    .filter((line) => line !== '');
}

/** Whether readers run the command in a checkout of the repository. */
export function isOfRepository(command: string): boolean {
  return command
    .split(' && ')
    .every((part) =>
      /^([A-Z]+=\S+ )?(npm (ci|test|start|run)|npx (vitest|changeset)|node (scripts|site\/pictures)\/)\b/.test(
        part,
      ),
    );
}

/** Whether a test for the page must read this block. */
export function needsReader({ language, code }: Block): boolean {
  if (language === 'ts' || language === 'js') return false;
  return language !== 'sh' || !commandsIn(code).every(isOfRepository);
}

/**
 * Returns a function that finds the only block in a given language that contains the given words. Must be called while tests are
 * collected, because it adds a test that fails if no test has read a block of the page that needs a reader.
 */
export function reading(page: string): (language: string, words: string) => string {
  const blocks = blocksOf(page);
  const left = new Set(blocks.filter(needsReader));
  test(`${page}: every block is read by a test`, () => {
    expect([...left].map(({ line }) => `${page}:${line}`)).toEqual([]);
  });
  return (language, words) => {
    const fits = blocks.filter((block) => block.language === language && block.code.includes(words));
    const [block] = fits;
    if (block === undefined || fits.length > 1)
      throw new Error(`${page}: expected one ${language} block with "${words}"; found ${fits.length}`);
    left.delete(block);
    return block.code;
  };
}
