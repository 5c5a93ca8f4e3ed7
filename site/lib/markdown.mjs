// @ts-check
/**
 * Adapts pages to the site. Pages are written for readers on GitHub, so links are paths between files, and anchors are GitHub's.
 * This module turns the links into addresses on the site. A link to a file that is not a page leads to a copy of that file as
 * text, and a link to a folder leads to a list of the folder's files.
 */

import { cpSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { chartOf } from './charts.mjs';
import { addressOf, root } from './pages.mjs';

/** @typedef {Parameters<NonNullable<import('vitepress').MarkdownOptions['config']>>[0]} Renderer */

/** The anchor that GitHub gives to a heading. @param {string} heading */
export function slugOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The target of a link in a page, or undefined if the link stays unchanged. @param {string} page @param {string} href */
export function targetOf(page, href) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return undefined;
  const [path = '', anchor] = href.split('#');
  const file = relative(root, resolve(root, dirname(page), path)).replaceAll('\\', '/');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  if (file.endsWith('.md')) return { file, href: `/${addressOf(file)}${suffix}`, isPage: true };
  if (!existsSync(join(root, file))) throw new Error(`${page} links to ${href}, which does not exist`);
  return { file, href: `/files/${file}.txt`, isPage: false };
}

/** @param {Renderer} md @param {Set<string>} files receives the linked files that are not pages */
export function repositoryMarkdown(md, files) {
  md.core.ruler.push('repository-links', (state) => {
    const page = pageOf(state.env);
    for (const block of state.tokens)
      for (const token of block.children ?? []) {
        if (token.type !== 'link_open') continue;
        const target = targetOf(page, token.attrGet('href') ?? '');
        if (target === undefined) continue;
        token.attrSet('href', target.href);
        if (!target.isPage) files.add(target.file);
      }
  });

  const html = md.renderer.rules.html_block;
  md.renderer.rules.html_block = (tokens, index, options, env, self) => {
    const chart = /^<!-- chart: (.+) -->\s*$/.exec(tokens[index]?.content ?? '');
    if (chart !== null) return chartOf(chart[1] ?? '');
    return html === undefined ? (tokens[index]?.content ?? '') : html(tokens, index, options, env, self);
  };
}

/** @param {Iterable<string>} files @param {string} outDir */
export function copyFiles(files, outDir) {
  for (const file of files) {
    const target = join(outDir, 'files', `${file}.txt`);
    mkdirSync(dirname(target), { recursive: true });
    if (!statSync(join(root, file)).isDirectory()) cpSync(join(root, file), target);
    else writeFileSync(target, `${readdirSync(join(root, file)).join('\n')}\n`);
  }
}

/**
 * The file that is being rendered. For pages, `env` has `realPath`. While the search index is built, it has only `path`. @param {Record<string,
 * string>} env
 */
function pageOf(env) {
  return relative(root, env['realPath'] ?? env['path'] ?? '').replaceAll('\\', '/');
}
