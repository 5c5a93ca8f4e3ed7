import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const SERVER = 'http://127.0.0.1:8080';

/**
 * Browsers do not load modules from file://, so the page is one classic script and works when the file is opened
 * directly.
 */
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
  // Imports the library's sources instead of its build, so that the library need not be built first and the bundle omits unused algorithms.
  resolve: {
    alias: { sluice: fileURLToPath(new URL('../sluice/src/index.ts', import.meta.url)) },
  },
  // During development, the Live part uses a server on its default port.
  server: { proxy: { '/live': SERVER, '/v1': SERVER } },
  build: {
    target: 'es2022',
    // The first browser versions that support light-dark(). If light-dark() were compiled for older browsers, the theme switch
    // would not work.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    outDir: 'dist',
    emptyOutDir: true,
    modulePreload: false,
    // All styles are in one linked style sheet. Otherwise, the classic script would contain them as text.
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    rolldownOptions: { output: { format: 'iife' } },
  },
});
