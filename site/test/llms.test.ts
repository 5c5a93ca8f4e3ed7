import { expect, test } from 'vitest';
import { summaryOf } from '../lib/llms.mjs';

test.each([
  [
    'ends with the first sentence that makes it long enough',
    'One. Two and more words to come.',
    'One. Two and more words to come.',
  ],
  [
    'is only the first sentence if that sentence is long enough',
    'A sentence that is long enough. Two.',
    'A sentence that is long enough.',
  ],
  [
    'does not end within code',
    "Misskey's limits are `{ max?, minInterval? }`. There, it counts.",
    "Misskey's limits are { max?, minInterval? }.",
  ],
  [
    'contains no Markdown',
    'The [*generic* cell](a.md) rate\nalgorithm of `Sluice`.',
    'The generic cell rate algorithm of Sluice.',
  ],
  [
    'does not end with a colon',
    'Three attacks, and no limit stops all:\n\n- a',
    'Three attacks, and no limit stops all.',
  ],
  [
    'leaves out pictures, tables, quotations and code',
    '![a](b)\n\n| a |\n\n> b\n\n```ts\nc\n```\n\n    d = e\n\nWords that are left.',
    'Words that are left.',
  ],
])('a summary %s', (_, text, summary) => {
  expect(summaryOf(`# Title\n\n${text}\n`)).toBe(summary);
});

test('a page that begins with code is summarized by its heading', () => {
  expect(summaryOf('# gcra: an even rate\n\n```ts\na\n```\n\n## Rule\n\n    a = b\n\nMore.')).toBe(
    'An even rate.',
  );
});

test('a page without an introduction is summarized by its first section', () => {
  expect(summaryOf('# Contributing\n\n## Setup\n\nNode 20 or newer is needed.')).toBe(
    'Node 20 or newer is needed.',
  );
});
