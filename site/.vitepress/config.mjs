// @ts-check
/** Pages stay where they are in the repository. lib/pages.mjs selects them and maps them to addresses. */

import { defineConfig } from 'vitepress';
import { summaryOf, writeLlms } from '../lib/llms.mjs';
import { copyFiles, repositoryMarkdown, slugOf } from '../lib/markdown.mjs';
import { addressOf, EXCLUDED, sidebar, textOf } from '../lib/pages.mjs';
import { writeReference } from '../lib/reference.mjs';

const title = 'Sluice';
const description =
  'A rate limiter for TypeScript: ten algorithms, several limits decided together, the same answers in memory and in Redis.';
const sections = sidebar(await writeReference());
/** @type {Set<string>} */
const files = new Set();

const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><path d="M4 6h4v20H4zM24 6h4v20h-4z" fill="#57606a"/><path d="M9 10h14v4H9z" fill="#0969da"/><path d="M9 20h14v2H9zM9 24h14v2H9z" fill="#58a6ff"/></svg>`;

export default defineConfig({
  title,
  description,
  lang: 'en',
  srcDir: '..',
  outDir: 'dist',
  cacheDir: '../.build/site-cache',
  srcExclude: EXCLUDED,
  rewrites: addressOf,
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  markdown: {
    anchor: { slugify: slugOf },
    config: (md) => repositoryMarkdown(md, files),
  },
  vite: {
    publicDir: false,
    server: { watch: { ignored: ['**/.build/**', '**/coverage/**', '**/dist/**', '**/test-artefacts/**'] } },
    build: { chunkSizeWarningLimit: 3000, reportCompressedSize: false },
  },
  transformPageData({ filePath, frontmatter }) {
    if (filePath.startsWith('site/generated/')) frontmatter['outline'] = 2;
    if (frontmatter['layout'] === 'home') return {};
    return { description: summaryOf(textOf(filePath)) };
  },
  buildEnd({ outDir, site, pages }) {
    copyFiles(files, outDir);
    writeLlms({ outDir, base: site.base, pages, sections, title, summary: description });
  },
  themeConfig: {
    sidebar: sections,
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Which algorithm', link: '/choose' },
      { text: 'Guides', link: '/guides/login-protection' },
      { text: 'Reference', link: '/reference/sluice' },
      { text: 'Benchmarks', link: '/benchmarks' },
    ],
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        // The search index needs only text, so code is not highlighted.
        _render(text, env, md) {
          md.options.highlight = (code) => `<pre>${md.utils.escapeHtml(code)}</pre>`;
          return md.render(text, env);
        },
      },
    },
    docFooter: { prev: 'Previous', next: 'Next' },
    footer: { message: 'MIT license' },
  },
});
