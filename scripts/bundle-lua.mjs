// @ts-check
// Bundles the Lua files into a module, so that the library reads no file at run time. For the lean path, which is the
// short script for frequent hits, it also turns each function that an algorithm needs for a take into a block of statements
// without calls. Run: node scripts/bundle-lua.mjs [--check]

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../packages/sluice/src/', import.meta.url));
const target = join(src, 'stores/redis/lua.ts');

/** The functions of an algorithm that the lean path needs. */
const INLINED = ['check_clock', 'wait_for', 'take', 'clear_in'];

/** @typedef {{ readonly params: string, readonly body: string[] }} LuaFunction */

/** The Lua files in a folder of the library. @param {string} folder */
function luaIn(folder) {
  const files = readdirSync(src, { recursive: true }).map(String).sort();
  return files
    .filter((file) => file.startsWith(folder) && file.endsWith('.lua'))
    .map((file) => ({ name: basename(file, '.lua'), text: readFileSync(join(src, file), 'utf8') }));
}

const shell = luaIn('stores/redis/lua');
const arithmetic = shell.find(({ name }) => name === 'arithmetic')?.text ?? '';

/** Removes comments, indentation and empty lines. @param {string} text */
function stripped(text) {
  const lines = text.split('\n').map((line) => line.replace(/(^|\s)--(?! @insert).*$/, '').trim());
  return lines.filter((line) => line !== '').join('\n');
}

/** The words of a declaration such as `-- @params limit per`. @param {string} text @param {string} tag */
function declared(text, tag) {
  return new RegExp(`^-- @${tag} (.+)$`, 'm').exec(text)?.[1]?.split(' ');
}

/** Functions at the top level, by name. @param {string} text @returns {[string, LuaFunction][]} */
function functionsIn(text) {
  const found = text.matchAll(/^local function (\w+)\((.*?)\)\n(.*?)^end$/gms);
  return [...found].map(([, name = '', params = '', body = '']) => [
    name,
    { params, body: stripped(body).split('\n') },
  ]);
}

/**
 * Returns a function that turns a Lua function, including the Lua functions that it calls, into statements. In the Lua files, a
 * call of such a function is always a separate statement: `local name = f(…)`.
 * @param {ReadonlyMap<string, LuaFunction>} functions
 */
function inliner(functions) {
  let results = 0;

  /** @param {string} line @returns {string[]} */
  function expanded(line) {
    const [, name = '', callee = '', given = ''] = /^local (\w+) = (\w+)\((.*)\)$/.exec(line) ?? [];
    const called = functions.get(callee);
    if (called === undefined) return [line];
    // p and c are not variables: they stand for the policy's params and cells everywhere.
    const [params, args] = [called.params, given].map((list) => list.replace(/^(p, )?(c, )?/, ''));
    const binding = params === args ? [] : [`local ${params} = ${args}`];
    const result = `result_${++results}`;
    return [`local ${result}`, ...block(called, result, binding), `local ${name} = ${result}`];
  }

  /**
   * Returns the function's statements inside a loop that runs once. Each `return` becomes an assignment to `result` and a
   * `break`.
   * @param {LuaFunction} called @param {string} result @param {string[]} binding
   * @returns {string[]}
   */
  function block(called, result, binding) {
    const lines = called.body.flatMap(expanded).map((line) =>
      line.replace(/\breturn\b(?: (?!end$)(.*?))?(?= end$|$)/, (_, value) => {
        return value === undefined ? 'break' : `${result} = ${value} break`;
      }),
    );
    return ['repeat', ...binding, ...lines, 'until true'];
  }

  /** The function's result is left in the variable `result`. @param {string} name */
  return (name) => {
    const called = functions.get(name);
    if (called === undefined) return [];
    const text = block(called, 'result', []).join('\n');
    for (const other of functions.keys())
      if (new RegExp(`(?<![\\w.])${other}\\(`).test(text))
        throw new Error(`${name}: call ${other} only in a separate statement, local name = ${other}(…)`);
    return [[name, text]];
  };
}

/** @param {{ name: string, text: string }} file */
function algorithm({ name, text }) {
  const params = declared(text, 'params');
  const cells = declared(text, 'cells') ?? declared(text, 'variable-length');
  if (params === undefined || cells === undefined)
    throw new Error(`${name}.lua: declare its names with -- @params and -- @cells`);
  const inline = inliner(new Map([...functionsIn(arithmetic), ...functionsIn(text)]));
  const inlined = declared(text, 'cells') === undefined ? [] : INLINED.flatMap(inline);
  const includes = declared(text, 'include') ?? [];
  return { params, cells, includes, module: stripped(text), inlined: Object.fromEntries(inlined) };
}

/** @param {(readonly [string, unknown])[]} entries */
const object = (entries) => JSON.stringify(Object.fromEntries(entries), null, 2);

const text = `// Generated by scripts/bundle-lua.mjs from the .lua files; do not edit.
import type { LuaAlgorithm } from './script-layout.ts';

export const ALGORITHMS: Readonly<Record<string, LuaAlgorithm>> = ${object(
  luaIn('algorithms').map((file) => [file.name, algorithm(file)]),
)};

/** The files of stores/redis/lua. */
export const SHELL = ${object(shell.map(({ name, text }) => [name, stripped(text)]))} as const;
`;

if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (readFileSync(target, 'utf8') !== text) {
  console.error('stores/redis/lua.ts does not match the .lua files. Run: node scripts/bundle-lua.mjs');
  process.exit(1);
}
