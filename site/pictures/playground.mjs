// @ts-check
// Takes the screenshots of the playground for the README, in both themes. `npm run pictures -w sluice-site` builds the playground and
// writes docs/images/playground-light.png and docs/images/playground-dark.png. Needs the program chromium, or its path in the environment
// variable CHROMIUM.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { root } from '../lib/pages.mjs';
import { buildPlayground, PUBLIC, queryOf } from '../lib/playground.mjs';

const LIMITS = ['10/10s fixed-window', '10/10s sliding-log'];

await buildPlayground({ isPartOfSite: false });
const address = `${pathToFileURL(join(PUBLIC, 'play/index.html')).href}#playground?${queryOf(LIMITS)}`;
const browser = await chromium.launch({
  executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const page = await browser.newPage({
    colorScheme,
    viewport: { width: 1200, height: 720 },
    deviceScaleFactor: 2,
  });
  await page.goto(address);
  await page
    .locator('.stats')
    .nth(LIMITS.length - 1)
    .waitFor();
  const transport = await page.locator('.transport').boundingBox();
  const height = Math.ceil((transport?.y ?? 0) + (transport?.height ?? 0)) + 20;
  const path = join(root, `docs/images/playground-${colorScheme}.png`);
  await page.screenshot({ path, clip: { x: 0, y: 0, width: 1200, height }, fullPage: true });
  await page.close();
}
await browser.close();
