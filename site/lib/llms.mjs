// @ts-check
/**
 * Writes every page as Markdown next to its HTML, an index of the pages (llms.txt), and all pages as one file (llms-full.txt).
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { targetOf } from './markdown.mjs';
import { addressOf, textOf } from './pages.mjs';

/** @typedef {{ text: string, items: readonly { text: string, link: string }[] }} Section */

/** @param {{ outDir: string, base: string, pages: readonly string[], sections: readonly Section[], title: string, summary: string }} site */
export function writeLlms({ outDir, base, pages, sections, title, summary }) {
  const texts = new Map(pages.map((page) => [`/${addressOf(page)}`, markdownOf(page, base)]));
  for (const [address, text] of texts) write(join(outDir, address), text);

  const lines = [`# ${title}`, '', `> ${summary}`];
  for (const { text, items } of sections) {
    lines.push('', `## ${text}`, '');
    for (const item of items) {
      const summary = summaryOf(texts.get(item.link) ?? '');
      lines.push(`- [${item.text}](${base}${item.link.slice(1)})${summary && `: ${summary}`}`);
    }
  }
  write(join(outDir, 'llms.txt'), `${lines.join('\n')}\n`);

  const order = sections.flatMap(({ items }) => items.map(({ link }) => texts.get(link) ?? ''));
  write(join(outDir, 'llms-full.txt'), order.join('\n\n---\n\n'));
}

/** A first sentence with fewer characters than this is too short for a summary, so the second sentence is added. */
const SHORT = 25;

/**
 * The summary of a page as plain text. It is the first sentence below the heading, or the part of the heading after a colon.
 * @param {string} text
 */
export function summaryOf(text) {
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, '').replace(/^```[\s\S]*?^```$/gm, '');
  const [, about] = /^# [^\n:]+: (.+)$/m.exec(body) ?? [];
  const [lead = ''] = body.split(/^## /m);
  const paragraph =
    proseOf(lead) ?? (about && `${about.charAt(0).toUpperCase()}${about.slice(1)}.`) ?? proseOf(body);
  return firstSentence(paragraph ?? '');
}

/** The first paragraph that is not a heading, list, table, quotation, picture or code block. @param {string} text */
function proseOf(text) {
  const paragraphs = text.split(/\n\s*\n/).map((part) => part.replace(/^\s*\n/, ''));
  return paragraphs.map((part) => part.replace(/^#.*\n?/, '')).find((part) => /^[^\s#>|!<\-*\d]/.test(part));
}

/** @param {string} markdown */
function firstSentence(markdown) {
  /** Code is replaced by placeholders, because a period in it does not end a sentence. @type {string[]} */
  const codes = [];
  const plain = markdown
    .replaceAll(/`([^`]+)`/g, (_, code) => `\0${codes.push(code) - 1}\0`)
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('*', '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    // A sentence that introduced a list or a table ends with a colon.
    .replace(/:$/, '.');
  const sentences = plain.match(/.+?[.?!](?= |$)/g) ?? [plain];
  const [first = '', second = ''] = sentences;
  const summary = first.length < SHORT ? first + second : first;
  return summary.replaceAll(/\0(\d+)\0/g, (_, i) => codes[i] ?? '');
}

/** The text of a page, with links that work on the site. @param {string} page @param {string} base */
function markdownOf(page, base) {
  // Links to pictures stay unchanged, because pictures are not copied.
  return textOf(page).replaceAll(/(?<!!\[[^\]]*)\]\(([^)\s]+)\)/g, (all, href) => {
    const target = targetOf(page, href);
    return target === undefined ? all : `](${base}${target.href.slice(1)})`;
  });
}

/** @param {string} file @param {string} text */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
