import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const SERVER = 'http://127.0.0.1:8080';

/** Browsers load no module from file://, so the page is one classic script: it also works when opened by a double click. */
const classicScript: Plugin = {
  name: 'classic-script',
  apply: 'build',
  enforce: 'post',
  transformIndexHtml: {
    order: 'post',
    handler: (html) =>
      html
        .replace(/<script type="module" crossorigin/g, '<script defer')
        .replaceAll('rel="stylesheet" crossorigin', 'rel="stylesheet"'),
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: './',
  plugins: [classicScript],
  // The sources, not the build: one command is enough, and unused algorithms leave no trace.
  resolve: {
    alias: { sluice: fileURLToPath(new URL('../sluice/src/index.ts', import.meta.url)) },
  },
  // While developing, the Live part looks at a server on its usual port.
  server: { proxy: { '/live': SERVER, '/v1': SERVER } },
  build: {
    target: 'es2022',
    // The first that know light-dark(): written out for older ones, the switch of colours would do nothing.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    outDir: 'dist',
    emptyOutDir: true,
    modulePreload: false,
    // One sheet, linked: else a classic script would carry it as text.
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: { output: { format: 'iife' } },
  },
});
