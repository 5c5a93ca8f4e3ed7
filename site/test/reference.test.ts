/** Tests that the checks of the reference find every kind of fault that has occurred. */
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

test('reports nothing for a complete page', () => {
  expect(faultsWith('', '')).toEqual([]);
});

test('reports an exported name without an entry', () => {
  expect(faultsWith('', '', [...NAMES, 'gcra'])).toEqual(['sluice does not document gcra']);
});

test('a name whose entry is on another page may be in a list', () => {
  const page = `${PAGE}\n## Also exported here {#also-exported-here}\n\n- [gcra](sluice.md#gcra)\n`;
  expect(faultsOf(new Map([['sluice', page]]), new Map([['sluice', [...NAMES, 'gcra']]]))).toEqual([]);
});

test('reports an entry point without a page', () => {
  expect(faultsOf(new Map(), new Map([['sluice-server', ['startServer']]]))).toEqual([
    'sluice-server has no page',
  ]);
});

test.each([
  ['in a signature', 'options?: LimiterOptions)', 'options?: Taker)'],
  ['in a table', '`string` \\|', '`Taker` \\|'],
  ['in a return type', '`Promise`\\', '`Taker`\\'],
])('reports a type without an entry %s', (_, words, others) => {
  expect(faultsWith(words, others)).toEqual(['sluice mentions Taker, which has no entry']);
});

test('reports an abbreviated type', () => {
  expect(faultsWith('(#limiteroptions) |', '(#limiteroptions) & `object` |')).toHaveLength(1);
});

test.each(['-', ''])('reports a property with the comment "%s"', (comment) => {
  expect(faultsWith('Keeps its keys apart.', comment)).toEqual(['sluice has no comment for name?']);
});

test('reports a table of properties without comments', () => {
  expect(faultsWith(' | Description |', ' |')).toEqual(['sluice has no comment for name?']);
});

const block = (code: string) => `\`\`\`ts\n${code}\n\`\`\``;
const shown = (code: string, aliases = new Map<string, string>()) => tidied(block(code), aliases);

test('a signature is on one line or has one line per parameter', () => {
  expect(shown('function f(options: \n  | A<B>\n| C): D;')).toBe(block('function f(options: A<B> | C): D;'));
  const name = 'x'.repeat(60);
  expect(shown(`${name}(\n   call: (a: A, b: B) => Map<K, V>, \n   other: B\n): void;`)).toBe(
    block(`${name}(\n  call: (a: A, b: B) => Map<K, V>,\n  other: B,\n): void;`),
  );
});

test('a type alias is shown as it is written', () => {
  const written = "type A = ('a' | B) & { readonly c: C };";
  expect(shown("type A = \n  | 'a'\n  | B & {\n  c: C;\n};", new Map([['A', written]]))).toBe(block(written));
});

test('removes rows that repeat the line above them and keeps the others', () => {
  const table = '| `a` | \\{ `b`: `C` \\| `D`; \\} | About a. |\n';
  expect(tidied(`${table}| \`a.b\` | \`C\` \\| \`D\` | - |\n`, new Map())).toBe(table);
  const told = `${table}| \`a.b\` | \`C\` | About b. |\n`;
  expect(tidied(told, new Map())).toBe(told);
});

test('leaves the default value of a parameter without a default empty', () => {
  const table = '| Parameter | Type | Default value |\n| --- | --- | --- |\n';
  expect(tidied(`${table}| \`a\` | \`A\` | \`undefined\` |\n| \`b\` | \`B\` | \`429\` |\n`, new Map())).toBe(
    `${table}| \`a\` | \`A\` | |\n| \`b\` | \`B\` | \`429\` |\n`,
  );
});
