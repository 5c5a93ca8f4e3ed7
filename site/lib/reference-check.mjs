// @ts-check
/** Finds what is missing in the reference, such as an exported name, the entry of a type, or the comment of a property. */

/** Types of the language, of platforms and of other packages. They are documented elsewhere. */
const FOREIGN = new Set(
  `AbortSignal Date Error Float64Array Headers Map Promise RangeError Request Response SharedArrayBuffer URL Uint8Array
  Awaited Exclude Extract NoInfer NonNullable Omit Parameters Partial Pick Readonly ReadonlyMap Iterable Record Required ReturnType ClassDecorator MethodDecorator
  IncomingMessage ServerResponse Http2ServerRequest Http2ServerResponse
  CallHandler CanActivate ConfigurableModuleAsyncOptions DynamicModule ExecutionContext HttpException NestInterceptor
  FastifyPluginAsync FastifyRequest Context MiddlewareHandler Attributes Meter Tracer Infinity`.split(/\s+/),
);

/**
 * @param {ReadonlyMap<string, string>} pages by entry, such as 'sluice/redis'
 * @param {ReadonlyMap<string, readonly string[]>} exported names by entry
 */
export function faultsOf(pages, exported) {
  const known = new Set([...pages.values()].flatMap(entriesOf));
  return [...exported].flatMap(([entry, names]) => {
    const page = pages.get(entry);
    if (page === undefined) return [`${entry} has no page`];
    const places = new Set([...entriesOf(page), ...listedIn(page)]);
    return [
      ...names.filter((name) => !places.has(name)).map((name) => `${entry} does not document ${name}`),
      ...strangersIn(page, known).map((name) => `${entry} mentions ${name}, which has no entry`),
      ...cutOff(page).map((line) => `${entry} abbreviates a type: ${line}`),
      ...bareRows(page).map((name) => `${entry} has no comment for ${name}`),
    ];
  });
}

/** @param {string} page */
const entriesOf = (page) => matches(page.replaceAll('\\_', '_'), /^## (\w+)(?:\(\))? \{#/gm);

/** Names whose entry is on another page. @param {string} page */
const listedIn = (page) => matches(page, /^- \[(\w+)\]\(/gm);

/** Names of types in code blocks that have no entry, and names of types in tables and return types that have no link. @param {string} page @param {ReadonlySet<string>} known */
function strangersIn(page, known) {
  const codes = matches(page, /^```ts\n([\s\S]*?)^```$/gm).map((code) =>
    code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'|"[^"\n]*"/g, ''),
  );
  const parameters = new Set([
    ...matches(page, /<a id="type-parameter-[^"]*"><\/a> `(\w+)`/g),
    ...codes.flatMap((code) => matches(code, /<(\w+)(?: extends |>\()/g)),
  ]);
  const isForeign = (/** @type {string} */ name) => FOREIGN.has(name) || parameters.has(name);
  const inCode = codes
    .flatMap((code) => matches(code, /(?<![\w.])([A-Z]\w*)(?!\w*\??:)/g))
    .filter((name) => !known.has(name));
  const inTypes = typesIn(page).flatMap((type) => matches(type, /(?<!\[)`([A-Z]\w*)`(?!\??:)/g));
  return [...new Set([...inCode, ...inTypes].filter((name) => !isForeign(name)))];
}

/** The places where typedoc links types: table cells and return types. @param {string} page */
function typesIn(page) {
  const lines = page.replaceAll(/^```[\s\S]*?^```$/gm, '').split('\n');
  return lines.flatMap((line, i) => {
    if (line.startsWith('|')) return [cellsOf(line)[2] ?? ''];
    return /^#+ (Returns|Extends)$/.test(lines[i - 2] ?? '') ? [line] : [];
  });
}

/** @param {string} page */
const cutOff = (page) => page.split('\n').filter((line) => /& `object`|`object`\[\]/.test(line));

/** Properties without a comment. @param {string} page */
function bareRows(page) {
  return matches(page, /((?:^\| .*\n)+)/gm)
    .filter((table) => table.startsWith('| Property '))
    .flatMap((table) => {
      const [head = '', , ...rows] = table.trimEnd().split('\n');
      const place = cellsOf(head).indexOf(' Description ');
      return rows
        .map(cellsOf)
        .filter((cells) => /^( -)? *$/.test(cells[place] ?? ''))
        .map((cells) => /`([^`]+)`/.exec(cells[1] ?? '')?.[1] ?? '');
    });
}

/** @param {string} row */
export const cellsOf = (row) => row.split(/(?<!\\)\|/);

/** The first group of each match. @param {string} text @param {RegExp} pattern */
const matches = (text, pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? '');
