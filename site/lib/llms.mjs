// @ts-check
/** For machines that read: every page as Markdown beside its HTML, llms.txt as their index, llms-full.txt as one text. */

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

/** The first sentence below the heading, without Markdown. @param {string} text */
export function summaryOf(text) {
  const body = text
    .replace(/^---\n[\s\S]*?\n---\n/, '')
    .replace(/^```[\s\S]*?^```$/gm, '')
    .replace(/^[#>|!<].*$/gm, '');
  const paragraph = body.split(/\n\s*\n/).find((part) => part.trim() !== '') ?? '';
  const plain = paragraph
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*`]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  return /^.*?[.?!](?= |$)/.exec(plain)?.[0] ?? plain;
}

/** With links that hold on the site. @param {string} page @param {string} base */
function markdownOf(page, base) {
  // Pictures have no copy in text.
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
