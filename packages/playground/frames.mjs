/**
 * Measures how smoothly the page plays 100,000 requests in four lanes, by timing every frame of the built page in a real browser.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { build } from 'vite';

const LIMITS = ['10/s fixed-window', '10/s', '50/5s sliding-window', '100/10s sliding-log'];
const query = LIMITS.map((text) => `limit=${encodeURIComponent(text)}`).join('&');
const ADDRESS = `#playground?${query}&traffic=rogue&rate=150&size=500&length=100000`;

/**
 * Returns, in milliseconds, the time between frames and the page's own work in each frame, both while the page computes the runs
 * and while it plays them.
 */
export async function measureFrames(seconds) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-frames-'));
  const root = fileURLToPath(new URL('.', import.meta.url));
  await build({ root, logLevel: 'silent', build: { outDir: folder, emptyOutDir: true } });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(watchFrames);
    await page.goto(`file://${folder}/index.html${ADDRESS}`);
    await page
      .locator('.stats')
      .nth(LIMITS.length - 1)
      .waitFor();
    const deciding = await page.evaluate(() => window.framesUntilQuiet());
    const events = Number((await page.locator('.story .muted').textContent()).replace(/\D/g, ''));
    await page.getByLabel('Speed').selectOption('10');
    await page.locator('.play').click();
    const playing = await page.evaluate((span) => window.framesFor(span), seconds * 1000);
    return { events, lanes: LIMITS.length, deciding, playing, version: browser.version() };
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts timing frames. Runs in the page before any of its scripts. */
function watchFrames() {
  const frames = [];
  const original = window.requestAnimationFrame.bind(window);
  let current = { at: -1, work: 0 };
  window.requestAnimationFrame = (callback) =>
    original((at) => {
      if (at !== current.at) {
        current = { at, work: 0 };
        frames.push(current);
      }
      const start = performance.now();
      callback(at);
      current.work += performance.now() - start;
    });
  const since = (index) => ({
    intervals: frames.slice(index + 1).map(({ at }, i) => at - frames[index + i].at),
    work: frames.slice(index).map(({ work }) => work),
  });
  const wait = (span) => new Promise((resolve) => setTimeout(resolve, span));
  window.framesUntilQuiet = async () => {
    for (let count = -1; count !== frames.length; await wait(300)) count = frames.length;
    return since(0);
  };
  window.framesFor = async (span) => {
    const from = frames.length;
    await wait(span);
    return since(from);
  };
}
