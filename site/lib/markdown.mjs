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
import { limitsOf, playgroundWith } from './playground.mjs';

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

  md.core.ruler.push('algorithm-playgrounds', (state) => {
    const [, algorithm] = /\/algorithms\/([\w-]+)\/README\.md$/.exec(pageOf(state.env)) ?? [];
    const picture = state.tokens.findIndex(({ children }) => children?.[0]?.type === 'image');
    if (algorithm === undefined || picture < 0) return;
    const token = new state.Token('html_block', '', 0);
    token.content = playgroundWith(limitsOf(algorithm));
    // The picture is between the start and the end of its paragraph.
    state.tokens.splice(picture + 2, 0, token);
  });

  // A formula may be wider than the screen. It can be focused, so that the keyboard can scroll it.
  md.renderer.rules.code_block = (tokens, index) =>
    `<pre v-pre tabindex="0"><code>${md.utils.escapeHtml(tokens[index]?.content ?? '')}</code></pre>\n`;

  const html = md.renderer.rules.html_block;
  md.renderer.rules.html_block = (tokens, index, options, env, self) => {
    const content = tokens[index]?.content ?? '';
    const chart = /^<!-- chart: (.+) -->\s*$/.exec(content);
    if (chart !== null) return chartOf(chart[1] ?? '');
    if (content.startsWith('<picture>')) return picturesOf(content);
    return html === undefined ? content : html(tokens, index, options, env, self);
  };
}

/**
 * Replaces a picture, whose variant depends on the system's theme, by two images, because readers choose a theme on the site itself.
 * @param {string} html
 */
function picturesOf(html) {
  const [, dark = ''] = /srcset="([^"]+)"/.exec(html) ?? [];
  const [image = ''] = /<img [^>]+>/.exec(html) ?? [];
  const variants = [image, image.replace(/ src="[^"]+"/, ` src="${dark}"`)];
  return variants
    .map((tag, i) => tag.replace('<img', `<img class="in-${i === 0 ? 'light' : 'dark'}"`))
    .join('\n');
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
