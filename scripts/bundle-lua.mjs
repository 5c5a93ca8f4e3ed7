// @ts-check
// Bundles the Lua files into a module, so that the library reads no file at run time. For the lean path, it also converts each
// function that an algorithm's take needs to a block of statements without calls. Run: node scripts/bundle-lua.mjs [--check]

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url));
const target = join(src, 'stores/redis/lua.ts');

/** The functions of an algorithm that the lean path needs. */
const INLINED = ['check_clock', 'wait_for', 'take', 'clear_in'];

/** @typedef {{ readonly params: string[], readonly body: string[] }} LuaFunction */

/** Removes comments, indentation and empty lines. @param {string} text */
function stripped(text) {
  const lines = text.split('\n').map((line) => line.replace(/(^|\s)--(?! @insert).*$/, '').trim());
  return lines.filter((line) => line !== '').join('\n');
}

/** The words of a declaration such as `-- @params limit per`. @param {string} text @param {string} tag */
function declared(text, tag) {
  return new RegExp(`^-- @${tag} (.+)$`, 'm').exec(text)?.[1]?.split(' ');
}

/** Functions at the top level, by name, without the name of the module. @param {string} text */
function functionsIn(text) {
  const found = text.matchAll(/^(?:local )?function (?:\w+\.)?(\w+)\((.*?)\)\n(.*?)^end$/gms);
  return new Map(
    [...found].map(([, name = '', params = '', body = '']) => [
      name,
      { params: params.split(', '), body: stripped(body).split('\n') },
    ]),
  );
}

/** @param {string} text  @param {number} open  Index of the opening parenthesis. */
function closingParenthesis(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '(') depth++;
    if (text[i] === ')' && --depth === 0) return i;
  }
  throw new Error(`missing ) in: ${text}`);
}

/** Arguments, split at the commas outside of parentheses. @param {string} text */
function argumentsIn(text) {
  const found = [''];
  let depth = 0;
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) found.push('');
    else found[found.length - 1] += char;
  }
  return found.map((argument) => argument.trim());
}

/** A function whose body is a single `return`. @param {LuaFunction | undefined} found */
function isExpression(found) {
  return found?.body.length === 1 && found.body[0]?.startsWith('return ');
}

/**
 * Converts functions to statements without calls of the file's own functions. A function that only returns an expression may be
 * called anywhere. Any other function may be called only as `local name = f(…)`.
 * @param {ReadonlyMap<string, LuaFunction>} functions
 */
function inliner(functions) {
  let results = 0;

  /** @param {string} line @returns {string} */
  function withExpressions(line) {
    for (const [name, found] of functions) {
      const at = line.search(new RegExp(`(?<![\\w.])${name}\\(`));
      if (at < 0 || !isExpression(found)) continue;
      const open = at + name.length;
      const close = closingParenthesis(line, open);
      const given = argumentsIn(line.slice(open + 1, close));
      const body = (found.body[0] ?? '').slice('return '.length).replaceAll(/(?<![\w.])\w+/g, (word) => {
        const value = given[found.params.indexOf(word)] ?? word;
        return /^[\w.]+$/.test(value) ? value : `(${value})`;
      });
      return withExpressions(`${line.slice(0, at)}(${body})${line.slice(close + 1)}`);
    }
    return line;
  }

  /** @param {string} line @returns {string[]} */
  function expanded(line) {
    const [, name = '', callee = '', given = ''] = /^local (\w+) = (\w+)\((.*)\)$/.exec(line) ?? [];
    const found = functions.get(callee);
    if (found === undefined || isExpression(found)) return [withExpressions(line)];
    const result = `result_${++results}`;
    const passed = argumentsIn(given)
      .map((argument, i) => [found.params[i] ?? '', withExpressions(argument)])
      .filter(([param, argument]) => param !== argument);
    const names = passed.map(([param]) => param).join(', ');
    return [
      `local ${result}`,
      'repeat',
      ...(passed.length > 0 ? [`local ${names} = ${passed.map(([, argument]) => argument).join(', ')}`] : []),
      ...body(found, result),
      'until true',
      `local ${name} = ${result}`,
    ];
  }

  /**
   * The statements of a function, inside a loop. Where the function would return, the statements leave the loop. @param
   * {LuaFunction} found @param {string} result
   */
  function body(found, result) {
    return found.body.flatMap(expanded).map((line) => {
      return line.replace(/\breturn\b(?: (?!end$)(.*?))?(?= end$|$)/, (_, value) =>
        value === undefined ? 'break' : `${result} = ${value} break`,
      );
    });
  }

  /** The function's result is left in the variable `result`. @param {string} name */
  return (name) => {
    const found = functions.get(name);
    if (found === undefined) return '';
    const text = ['repeat', ...body(found, 'result'), 'until true'].join('\n');
    for (const other of functions.keys())
      if (new RegExp(`(?<![\\w.])${other}\\(`).test(text))
        throw new Error(`${name}: call ${other} only in a separate statement, local name = ${other}(…)`);
    return text;
  };
}

/** @param {string} folder */
function luaIn(folder) {
  return (existsSync(folder) ? readdirSync(folder, { recursive: true }) : [])
    .map(String)
    .filter((file) => file.endsWith('.lua'))
    .sort()
    .map((file) => ({ name: basename(file, '.lua'), text: readFileSync(join(folder, file), 'utf8') }));
}

const shell = luaIn(join(src, 'stores/redis/lua'));
const shared = functionsIn(shell.find(({ name }) => name === 'arithmetic')?.text ?? '');

/** @param {{ name: string, text: string }} file */
function algorithm({ name, text }) {
  const params = declared(text, 'params');
  const cells = declared(text, 'cells') ?? declared(text, 'variable-length');
  if (params === undefined || cells === undefined)
    throw new Error(`${name}.lua: declare its names with -- @params and -- @cells`);
  const inline = inliner(new Map([...shared, ...functionsIn(text)]));
  const parts = declared(text, 'cells') === undefined ? [] : INLINED;
  return {
    params,
    cells,
    includes: declared(text, 'include') ?? [],
    module: stripped(text),
    inlined: Object.fromEntries(parts.map((part) => [part, inline(part)]).filter(([, code]) => code !== '')),
  };
}

/** @param {readonly (readonly [string, unknown])[]} entries */
function properties(entries) {
  return entries
    .map(([name, value]) => `  '${name}': ${JSON.stringify(value, null, 2).replaceAll('\n', '\n  ')},`)
    .join('\n');
}

const text = `// Generated by scripts/bundle-lua.mjs from the .lua files; do not edit.

export interface LuaAlgorithm {
  /** Names of the params, in the order in which the script receives them. */
  readonly params: readonly string[];
  readonly cells: readonly string[];
  /** Algorithms whose modules this one uses. */
  readonly includes: readonly string[];
  /** A chunk that returns the table of the algorithm's functions. */
  readonly module: string;
  /** Statements by function, for the lean path; none for variable-length rows. */
  readonly inlined: Readonly<Record<string, string>>;
}

export const ALGORITHMS: Readonly<Record<string, LuaAlgorithm>> = {
${properties(luaIn(join(src, 'algorithms')).map((file) => [file.name, algorithm(file)]))}
};

/** The files of stores/redis/lua. */
export const SHELL = {
${properties(shell.map((file) => [file.name, stripped(file.text)]))}
} as const;
`;

if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (readFileSync(target, 'utf8') !== text) {
  console.error('stores/redis/lua.ts does not match the .lua files. Run: node scripts/bundle-lua.mjs');
  process.exit(1);
}
