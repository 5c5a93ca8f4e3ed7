/**
 * Finds the documentation pages of the repository and their code blocks. docs.test.ts explains the words that may follow a
 * block's language.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../../../', import.meta.url));

/** Paths of the Markdown files in a folder, relative to the repository's root and with forward slashes. */
export function markdownIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory())
      return /^(node_modules|dist|coverage|generated|\..*)$/.test(entry.name) ? [] : markdownIn(path);
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

export const pages: readonly string[] = markdownIn('');

export function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

export interface Block {
  readonly page: string;
  /** The line of the opening fence, counted from 1. */
  readonly line: number;
  readonly language: string;
  readonly words: readonly string[];
  /** The file name without its extension, if the block begins with `// name.ts`. */
  readonly name: string | undefined;
  readonly code: string;
}

/** Matches everything that may open or close a block in Markdown. */
const FENCE = /^[\s>]*(?:```|~~~)/;

/** The blocks of all languages. A block with an unusual fence is an error, because no test would see it. */
export function blocksOf(page: string): Block[] {
  const lines = textOf(page).split('\n');
  const blocks: Block[] = [];
  for (let i = 0; i < lines.length; i++) {
    if (!FENCE.test(lines[i] ?? '')) continue;
    const start = i;
    while (++i < lines.length && !FENCE.test(lines[i] ?? ''));
    const fence = /^```(\w*)((?: \w+)*)$/.exec(lines[start] ?? '');
    if (fence === null || lines[i] !== '```')
      throw new Error(`${page}:${start + 1}: this fence is not in a form that tests can read`);
    const code = lines.slice(start + 1, i);
    blocks.push({
      page,
      line: start + 1,
      language: fence[1] ?? '',
      words: (fence[2] ?? '').split(' ').filter((word) => word !== ''),
      name: /^\/\/ ([\w-]+)\.(?:ts|m?js)\b/.exec(code[0] ?? '')?.[1],
      code: code.join('\n'),
    });
  }
  return blocks;
}

/** The output that a block's comments promise, in order. */
export function promised(code: string): string[] {
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

const { exports: entries } = JSON.parse(textOf('packages/sluice/package.json')) as {
  exports: Record<string, { readonly import?: { readonly default: string } }>;
};

/** The source file of an entry such as 'sluice/http'. */
export function sourceOf(entry: string): string {
  const built = entries[entry.replace('sluice', '.')]?.import?.default;
  if (built === undefined) throw new Error(`${entry} is not exported`);
  return join(root, 'packages/sluice/src', built.replace('./dist/', '').replace(/\.js$/, '.ts'));
}
