/** Tests that the check of the API reference finds every kind of fault that has occurred. */
import { expect, test } from 'vitest';
import { faultsOf } from '../lib/reference-check.mjs';
import { tidied } from '../lib/reference-form.mjs';

const PAGE = `# sluice

## createLimiter() {#createlimiter}

\`\`\`ts
function createLimiter<R>(policies: string, options?: LimiterOptions): Promise<R>;
\`\`\`

### Parameters

| Parameter | Type |
| ------ | ------ |
| \`options?\` | [\`LimiterOptions\`](#limiteroptions) |

### Returns

\`Promise\`\\<\`R\`\\>

***

## LimiterOptions {#limiteroptions}

### Properties

| Property | Type | Description |
| ------ | ------ | ------ |
| <a id="property-name"></a> \`name?\` | \`string\` \\| \`undefined\` | Keeps its keys apart. |
`;
const NAMES = ['createLimiter', 'LimiterOptions'];

/** The faults of the page after replacing some words. */
function faultsWith(words: string, others: string, names = NAMES): string[] {
  expect(PAGE).toContain(words);
  return faultsOf(new Map([['sluice', PAGE.replace(words, others)]]), new Map([['sluice', names]]));
}

test('the reference check reports no fault for a complete page', () => {
  expect(faultsWith('', '')).toEqual([]);
});

test('the reference check reports an exported name without an entry', () => {
  expect(faultsWith('', '', [...NAMES, 'gcra'])).toEqual(['sluice does not document gcra']);
});

test('the reference check accepts a name in a list if its entry is on another page', () => {
  const page = `${PAGE}\n## Also exported here {#also-exported-here}\n\n- [gcra](sluice.md#gcra)\n`;
  expect(faultsOf(new Map([['sluice', page]]), new Map([['sluice', [...NAMES, 'gcra']]]))).toEqual([]);
});

test('the reference check reports an entry point without a page', () => {
  expect(faultsOf(new Map(), new Map([['sluice-server', ['startServer']]]))).toEqual([
    'sluice-server has no page',
  ]);
});

test.each([
  ['in a signature', 'options?: LimiterOptions)', 'options?: Taker)'],
  ['in a table', '`string` \\|', '`Taker` \\|'],
  ['in a return type', '`Promise`\\', '`Taker`\\'],
])('the reference check reports a type without an entry if the type is used %s', (_, words, others) => {
  expect(faultsWith(words, others)).toEqual(['sluice mentions Taker, which has no entry']);
});

test('the reference check reports an abbreviated type', () => {
  expect(faultsWith('(#limiteroptions) |', '(#limiteroptions) & `object` |')).toHaveLength(1);
});

test.each(['-', ''])('the reference check reports a property with the comment "%s"', (comment) => {
  expect(faultsWith('Keeps its keys apart.', comment)).toEqual(['sluice has no comment for name?']);
});

test('the reference check reports a table of properties without comments', () => {
  expect(faultsWith(' | Description |', ' |')).toEqual(['sluice has no comment for name?']);
});

const block = (code: string) => `\`\`\`ts\n${code}\n\`\`\``;
const shown = (code: string, aliases = new Map<string, string>()) => tidied(block(code), aliases);

test('the reference shows a signature on one line, or with one line per parameter', () => {
  expect(shown('function f(options: \n  | A<B>\n| C): D;')).toBe(block('function f(options: A<B> | C): D;'));
  const name = 'x'.repeat(60);
  expect(shown(`${name}(\n   call: (a: A, b: B) => Map<K, V>, \n   other: B\n): void;`)).toBe(
    block(`${name}(\n  call: (a: A, b: B) => Map<K, V>,\n  other: B,\n): void;`),
  );
});

test('the reference shows a type alias exactly as in the source', () => {
  const written = "type A = ('a' | B) & { readonly c: C };";
  expect(shown("type A = \n  | 'a'\n  | B & {\n  c: C;\n};", new Map([['A', written]]))).toBe(block(written));
});

test('the reference omits table rows that only repeat the row above them, and keeps other rows', () => {
  const table = '| `a` | \\{ `b`: `C` \\| `D`; \\} | About a. |\n';
  expect(tidied(`${table}| \`a.b\` | \`C\` \\| \`D\` | - |\n`, new Map())).toBe(table);
  const told = `${table}| \`a.b\` | \`C\` | About b. |\n`;
  expect(tidied(told, new Map())).toBe(told);
});

test('the reference leaves the cell for the default value empty if there is no default', () => {
  const table = '| Parameter | Type | Default value |\n| --- | --- | --- |\n';
  expect(tidied(`${table}| \`a\` | \`A\` | \`undefined\` |\n| \`b\` | \`B\` | \`429\` |\n`, new Map())).toBe(
    `${table}| \`a\` | \`A\` | |\n| \`b\` | \`B\` | \`429\` |\n`,
  );
});
