// @ts-check
/** Makes the playground a part of the site: builds it, and finds the limits that it shows on the page of an algorithm. */

import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PICTURES } from '../pictures/algorithms.mjs';
import { root } from './pages.mjs';

/** The folder whose files the site serves unchanged. */
export const PUBLIC = join(root, '.build/site-public');

/**
 * Builds the playground in a separate process, because it needs a newer version of Vite than VitePress. As a part of the
 * site, the playground has a link back to the documentation.
 */
export async function buildPlayground({ isPartOfSite = true } = {}) {
  const folder = join(PUBLIC, 'play');
  const { NODE_ENV: _, ...env } = process.env;
  const vite = join(root, 'node_modules/vite/bin/vite.js');
  const options = ['--outDir', folder, '--emptyOutDir', '--logLevel', 'warn'];
  await promisify(execFile)(process.execPath, [vite, 'build', 'packages/playground', ...options], {
    cwd: root,
    env,
  });
  if (!isPartOfSite) return;
  const page = join(folder, 'index.html');
  const html = readFileSync(page, 'utf8');
  writeFileSync(page, html.replace('</head>', '<link rel="help" href="../start.html">\n</head>'));
  cpSync(join(root, 'docs/brand/mark.svg'), join(PUBLIC, 'mark.svg'));
}

/** The limits in the picture of an algorithm, as text that the playground accepts. @param {string} algorithm */
export function limitsOf(algorithm) {
  /** @type {string[]} */
  const limits = [];
  for (const { label } of PICTURES[algorithm]?.lanes ?? []) {
    const [, factory = '', options = ''] = /(\w+)\((\{.*?\})\)/.exec(label) ?? [];
    const name = factory.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const limit = `${name} ${options.replaceAll("'", '')}`;
    limits.push(label.startsWith('the same') ? `${limits.at(-1)} & ${limit}` : limit);
  }
  return [...new Set(limits)];
}

/** The limits as a part of a link to the playground. @param {readonly string[]} limits */
export function queryOf(limits) {
  const query = new URLSearchParams();
  for (const limit of limits) query.append('limit', limit);
  return String(query);
}

/** The element that shows the playground with these limits. @param {readonly string[]} limits */
export function playgroundWith(limits) {
  return `<Playground query="${queryOf(limits).replaceAll('&', '&amp;')}" :lanes="${limits.length}" />\n`;
}
