// @ts-check
/** How pages of the reference look. */

import { cellsOf } from './reference-check.mjs';

/** Of typedoc and its Markdown. */
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

/** @param {string} page @param {ReadonlyMap<string, string>} aliases as their sources have them, by name */
export function tidied(page, aliases) {
  const code = page.replaceAll(/^```ts\n([\s\S]*?)\n```$/gm, (_, block) => {
    const [, alias = ''] = /^type (\w+)/.exec(block) ?? [];
    const shown = aliases.get(alias) ?? (CALL.test(block) ? inLines(block) : block);
    return `\`\`\`ts\n${shown}\n\`\`\``;
  });
  return compactReexports(withoutNoDefaults(withoutRepeats(code)));
}

/** Of a function, a method or a constructor. */
const CALL = /^(?:(?:function|new|static|optional) )*\w*(?:<.*?>)?\(/s;
const LONGEST = 100;

/** In one line; if that is too long, a line per parameter. @param {string} block */
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
    const sign = line[i] ?? '';
    if (sign === ')' && depth === 0) break;
    if (/[([{<]/.test(sign)) depth++;
    if (/[)\]}]/.test(sign) || (sign === '>' && line[i - 1] !== '=')) depth--;
    if (sign === ',' && depth === 0) parameters.push('');
    else parameters[parameters.length - 1] += sign;
  }
  return `${line.slice(0, start)}\n${parameters.map((one) => `  ${one.trim()},\n`).join('')}${line.slice(i)}`;
}

/** Members of a type that is written out in the line above, where there is nothing more to say. @param {string} page */
function withoutRepeats(page) {
  return page.replaceAll(/^\| `[^`|]+\.[^`|]+` \| (?:\\\||[^|\n])* \|(?: - \|)?\n/gm, '');
}

/** Where other rows of a table have a default value, those without one say 'undefined'. @param {string} page */
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

/** What has its entry on another page: one list instead of a section each. @param {string} page */
function compactReexports(page) {
  const section = /^## .+\n\nRe-exports (\[.+\]\(.+\))\n(?:\n\*\*\*\n\n)?/gm;
  const links = [...page.matchAll(section)].map(([, link]) => `- ${link}`);
  if (links.length === 0) return page;
  const rest = page.replaceAll(section, '').trimEnd();
  return `${rest.replace(/\n\*\*\*$/, '').trimEnd()}\n\n***\n\n## Also exported here {#also-exported-here}\n\n${links.join('\n')}\n`;
}
