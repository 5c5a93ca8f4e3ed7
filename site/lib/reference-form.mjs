// @ts-check
/** The options of typedoc, and the format of the reference pages. */

import { cellsOf } from './reference-check.mjs';

/** Options of typedoc and its Markdown plugin. */
export const OPTIONS = {
  plugin: ['typedoc-plugin-markdown'],
  router: 'module',
  readme: 'none',
  name: 'Reference',
  entryFileName: 'index',
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  disableSources: true,
  disableGit: true,
  skipErrorChecking: true,
  logLevel: 'Warn',
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  hideBreadcrumbs: true,
  hidePageHeader: true,
  hideGroupHeadings: true,
  useCodeBlocks: true,
  useCustomAnchors: true,
  expandObjects: true,
  expandParameters: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeDeclarationFormat: 'table',
  propertyMembersFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  tableColumnSettings: { hideModifiers: true, hideInherited: true },
  typeDeclarationVisibility: 'compact',
  sort: ['source-order'],
  groupOrder: ['Functions', 'Classes', 'Interfaces', 'Type Aliases', 'Variables'],
};

/** @param {string} page @param {ReadonlyMap<string, string>} aliases the source text of type aliases, by name */
export function tidied(page, aliases) {
  const code = page.replaceAll(/^```ts\n([\s\S]*?)\n```$/gm, (_, block) => {
    const [, alias = ''] = /^type (\w+)/.exec(block) ?? [];
    const shown = aliases.get(alias) ?? (CALL.test(block) ? inLines(block) : block);
    return `\`\`\`ts\n${shown}\n\`\`\``;
  });
  return compactReexports(withoutNoDefaults(withoutRepeats(code)));
}

/** The signature of a function, a method or a constructor. */
const CALL = /^(?:(?:function|new|static|optional) )*\w*(?:<.*?>)?\(/s;
const LONGEST = 100;

/** Formats a signature on one line, or with one line per parameter if it would be too long. @param {string} block */
function inLines(block) {
  const line = block
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/([([]) /g, '$1')
    .replaceAll(/ ([)\]])/g, '$1')
    .replaceAll(/([:(<,]|=>) ?\| /g, (_, before) => (/[(<]/.test(before) ? before : `${before} `));
  const start = line.indexOf('(') + 1;
  if (line.length <= LONGEST || line[start] === ')') return line;
  const parameters = [''];
  let depth = 0;
  let i = start;
  for (; i < line.length; i++) {
    const character = line[i] ?? '';
    if (character === ')' && depth === 0) break;
    if (/[([{<]/.test(character)) depth++;
    if (/[)\]}]/.test(character) || (character === '>' && line[i - 1] !== '=')) depth--;
    if (character === ',' && depth === 0) parameters.push('');
    else parameters[parameters.length - 1] += character;
  }
  return `${line.slice(0, start)}\n${parameters.map((one) => `  ${one.trim()},\n`).join('')}${line.slice(i)}`;
}

/** Removes the members of an inline type that have no comment, because the row above already shows them. @param {string} page */
function withoutRepeats(page) {
  return page.replaceAll(/^\| `[^`|]+\.[^`|]+` \| (?:\\\||[^|\n])* \|(?: - \|)?\n/gm, '');
}

/**
 * Removes the 'undefined' that typedoc writes in a row without a default value if other rows of the table have one.
 * @param {string} page
 */
function withoutNoDefaults(page) {
  return page.replaceAll(/^\|[^\n]*\| Default value \|[^\n]*\n(?:\|.*\n)+/gm, (table) => {
    const place = cellsOf(table.split('\n')[0] ?? '').indexOf(' Default value ');
    return table.replaceAll(/^\|.*$/gm, (row) => {
      const cells = cellsOf(row);
      if (cells[place] === ' `undefined` ') cells[place] = ' ';
      return cells.join('|');
    });
  });
}

/** Replaces the sections about names whose entry is on another page with one list of links. @param {string} page */
function compactReexports(page) {
  const section = /^## .+\n\nRe-exports (\[.+\]\(.+\))\n(?:\n\*\*\*\n\n)?/gm;
  const links = [...page.matchAll(section)].map(([, link]) => `- ${link}`);
  if (links.length === 0) return page;
  const rest = page.replaceAll(section, '').trimEnd();
  return `${rest.replace(/\n\*\*\*$/, '').trimEnd()}\n\n***\n\n## Also exported here {#also-exported-here}\n\n${links.join('\n')}\n`;
}
