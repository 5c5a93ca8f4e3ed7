/**
 * Opens the page in a real browser. The page is built once per test file and served without a network. Every error of the page
 * fails a test.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const artefacts = join(root, 'test-artefacts');

export interface Site {
  readonly folder: string;
  readonly url: string;
  readonly browser: Browser;
  open(path?: string, options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/** The strictest headers that a server may set. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export async function openSite(): Promise<Site> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
  await build({ root, logLevel: 'silent', build: { outDir: folder, emptyOutDir: true } });
  const server = createServer((request, response) => serveFile(folder, request, response));
  const url = await listening(server);
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  return {
    folder,
    url,
    browser,
    async open(path = '', options = {}) {
      const page = await newPage(browser, options);
      await page.goto(/^\w+:/.test(path) ? path : url + path);
      await page.locator('main').waitFor();
      return page;
    },
    async close() {
      await browser.close();
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const faults = new WeakMap<Page, string[]>();

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const found: string[] = [];
  faults.set(page, found);
  page.on('pageerror', (error) => found.push(String(error)));
  page.on('console', (message) => {
    // Ignore the browser's own messages about failed connections, which the Live tests provoke.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      found.push(message.text());
  });
  return page;
}

/** The errors that the page has reported. */
export function faultsOf(page: Page): readonly string[] {
  return faults.get(page) ?? [];
}

async function listening(server: Server, port = 0): Promise<string> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function serveFile(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const path = normalize(new URL(request.url ?? '/', 'http://page').pathname);
  const file = join(folder, path === '/' ? 'index.html' : path);
  try {
    const body = readFileSync(file);
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': POLICY }).end(body);
  } catch {
    response.writeHead(404, { 'Content-Type': 'text/plain' }).end('not found');
  }
}

/** With SHOTS=1, saves a screenshot for manual review. */
export async function shot(page: Page, name: string, isWhole = false): Promise<void> {
  if (process.env['SHOTS'] !== '1') return;
  mkdirSync(artefacts, { recursive: true });
  await page.waitForTimeout(100);
  await page.screenshot({ path: join(artefacts, `${name}.png`), fullPage: isWhole });
}

/**
 * Calls `see` until two results in a row are equal, because on a busy machine the last frame may be late. Fails if the page never
 * stops changing.
 */
export async function settled<T>(see: () => Promise<T>): Promise<T> {
  for (let triesLeft = 5; ; triesLeft--) {
    const before = await see();
    await new Promise((resolve) => setTimeout(resolve, 300));
    if ((await see()) === before) return before;
    if (triesLeft === 0) throw new Error('the page never stops changing');
  }
}

/** The numbers beside a lane's chart, by name. */
export async function statsOf(page: Page, lane: number): Promise<Record<string, string>> {
  const rows = page.locator('.lane').nth(lane).locator('.stats div');
  const pairs = await rows.evaluateAll((all) =>
    all.map((one) => [
      one.querySelector('dt')?.textContent ?? '',
      one.querySelector('dd')?.textContent ?? '',
    ]),
  );
  return Object.fromEntries(pairs) as Record<string, string>;
}
