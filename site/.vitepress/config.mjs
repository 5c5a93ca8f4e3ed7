// @ts-check
/** Pages stay where they are in the repository. lib/pages.mjs selects them and maps them to addresses. */

import { defineConfig } from 'vitepress';
import { summaryOf, writeLlms } from '../lib/llms.mjs';
import { copyFiles, repositoryMarkdown, slugOf } from '../lib/markdown.mjs';
import { addressOf, EXCLUDED, sidebar, textOf } from '../lib/pages.mjs';
import { buildPlayground, PUBLIC } from '../lib/playground.mjs';
import { writeReference } from '../lib/reference.mjs';

const title = 'Sluice';
const description =
  'A rate limiter for TypeScript: ten algorithms, several limits decided together, the same answers in memory and in Redis.';
const [reference] = await Promise.all([writeReference(), buildPlayground()]);
const sections = sidebar(reference);
/** @type {Set<string>} */
const files = new Set();

const logo = textOf('docs/brand/logo.svg');
const icon = `data:image/svg+xml,${encodeURIComponent(textOf('docs/brand/mark.svg'))}`;

export default defineConfig({
  title,
  description,
  lang: 'en',
  srcDir: '..',
  outDir: 'dist',
  cacheDir: '../.build/site-cache',
  srcExclude: EXCLUDED,
  rewrites: addressOf,
  head: [['link', { rel: 'icon', href: icon }]],
  markdown: {
    // The comments of VitePress's default themes have too little contrast.
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: slugOf },
    config: (md) => repositoryMarkdown(md, files),
  },
  vite: {
    publicDir: PUBLIC,
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
    siteTitle: logo,
    sidebar: sections,
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Which algorithm', link: '/choose' },
      { text: 'Playground', link: '/play/index.html', target: '_self' },
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
