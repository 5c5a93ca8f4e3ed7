/**
 * Checks that the documentation is complete. Links must resolve, and everything that needs a page, a picture or a row in a table
 * must have one.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as sluice from '../../src/index.ts';
import * as testing from '../../src/testing/index.ts';
import { blocksOf, markdownIn, pages, promised, root, textOf } from 'sluice-test-support/docs/blocks.ts';

const algorithmsFolder = join(root, 'packages/sluice/src/algorithms');

describe('every link', () => {
  /** The anchor that GitHub gives to a heading. */
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-');
  const anchorsOf = (text: string) => [...text.matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1]));

  it.each(pages)('in %s resolves', (page) => {
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

  it('has a page, and every page has an error code', () => {
    expect(documented.toSorted()).toEqual(codes.toSorted());
  });

  it.each(documented)('has a page that explains its causes and what to do: %s', (code) => {
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
  // The path is computed, so that the type check does not follow it. The script is JavaScript and belongs to another project.
  const script = pathToFileURL(join(root, 'site/pictures/algorithms.mjs')).href;
  const drawing = import(/* @vite-ignore */ script) as Promise<{
    readonly PICTURES: Record<string, unknown>;
    readonly render: (name: string, library: object) => string;
  }>;

  it.each(names)('has a page with all its headings and its picture: %s', (name) => {
    const text = textOf(`packages/sluice/src/algorithms/${name}/README.md`);
    expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual(headings);
    expect(text).toContain(`](${name}.svg)`);
  });

  it.each(names)('has a picture that is up to date and small: %s', async (name) => {
    const { render } = await drawing;
    const file = join(algorithmsFolder, name, `${name}.svg`);
    expect(
      render(name, { ...sluice, ...testing }) === readFileSync(file, 'utf8'),
      'node site/pictures/algorithms.mjs',
    ).toBe(true);
    expect(statSync(file).size).toBeLessThan(15_000);
  });

  it('has a picture, and every picture is of an algorithm', async () => {
    expect(Object.keys((await drawing).PICTURES).toSorted()).toEqual(names.toSorted());
  });

  it.each(names)('is listed in the table of the README: %s', (name) => {
    expect(textOf('README.md')).toContain(`](packages/sluice/src/algorithms/${name}/README.md)`);
  });
});

describe('the reference', () => {
  const verbs = Object.keys(sluice.createLimiter('1/s'));

  it.each(verbs)('lists the verb in its table: %s', (verb) => {
    expect(textOf('docs/reference/verbs.md')).toMatch(new RegExp(`^\\| \`${verb}\\(`, 'm'));
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
    'at',
    'held',
  ])('explains the field of a decision: %s', (field) =>
    expect(textOf('docs/reference/decision.md')).toMatch(new RegExp(`^\\| \`${field}\``, 'm')),
  );

  it.each(Object.keys(sluice.ERRORS))('lists the error code with a link to its page: %s', (code) => {
    expect(textOf('docs/reference/errors.md')).toContain(`| [\`${code}\`](../errors/${code}.md) |`);
  });
});

describe('a decision record', () => {
  const records = readdirSync(join(root, 'docs/decisions')).filter((name) => /^\d/.test(name));

  it('has a number that is one higher than the number of the previous record', () => {
    expect(records.map((name) => Number(name.slice(0, 4)))).toEqual(records.map((_, i) => i + 1));
  });

  it.each(records)(
    'has the sections context, decision and consequences, and is listed in the README: %s',
    (name) => {
      const text = textOf(`docs/decisions/${name}`);
      expect([...text.matchAll(/^## (.+)$/gm)].map((match) => match[1])).toEqual([
        'Context',
        'Decision',
        'Consequences',
      ]);
      expect(textOf('docs/decisions/README.md')).toContain(`](${name})`);
    },
  );
});
