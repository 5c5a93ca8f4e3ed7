/** Tests the built site: its pages, its links, and its layout in a browser. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { drawLogo, logoFile } from '../pictures/logo.mjs';
import { type BuiltSite, builtSite, root } from './built.ts';

let site: BuiltSite;
beforeAll(async () => {
  site = await builtSite();
}, 600_000);
afterAll(() => site?.close());

/** The pages of the documentation. The playground is a page of its own. */
const pages = () => site.files.filter((file) => file.endsWith('.html') && !file.startsWith('play/'));

describe('the site', () => {
  it.each([
    'index',
    'start',
    'choose',
    'overview',
    'how-it-works',
    'benchmarks',
    'comparison',
    'server',
    'playground',
    'guides/login-protection',
    'guides/api-tiers',
    'guides/outbound-calls',
    'guides/several-processes',
    'guides/redis-cluster',
    'guides/when-redis-is-down',
    'guides/behind-proxies',
    'guides/testing',
    'guides/llm-tokens',
    'middleware/index',
    'migrate/index',
    'algorithms/gcra',
    'stores/redis',
    'decisions/index',
    'reference/verbs',
    'reference/decision',
    'reference/policies',
    'reference/options',
    'reference/errors',
    'contributing/index',
    'contributing/glossary',
    'reference/sluice',
    'reference/sluice/redis',
    'reference/sluice-compat/guava',
    'reference/sluice-server',
  ])('has the page %s', (page) => expect(site.files).toContain(`${page}.html`));

  it('has a page for every error code', () => {
    const codes = readdirSync(join(root, 'docs/errors')).map((file) => file.replace('.md', '.html'));
    expect(site.files).toEqual(expect.arrayContaining(codes.map((page) => `errors/${page}`)));
  });

  it('has every page in its sidebar', () => {
    const listed = new Set(linksOf('start.html').map(({ file }) => file));
    const forgotten = pages().filter((page) => !listed.has(page) && !/^(404|index)\.html$/.test(page));
    expect(forgotten).toEqual([]);
  });

  it('has a reference with methods, options and their comments', () => {
    const reference = site.read('reference/sluice.md');
    for (const words of [
      'createLimiter',
      'takeMany',
      'maxWaiting',
      'Charges the key if every policy allows it',
    ])
      expect(reference).toContain(words);
  });

  it.each([
    ['reference/sluice/store.md', '## WithStore '],
    [
      'reference/sluice/store.md',
      '`store` | [`Store`](/sluice/reference/sluice.md#store)\\<`R`\\> | The store that keeps the state of keys',
    ],
    ['reference/sluice/redis.md', '`denyCache?` | `boolean`'],
    ['reference/sluice.md', '## AnyLimiter '],
    ['reference/sluice.md', '`retryAfter` | [`Millis`]'],
    ['reference/sluice/otel.md', '`nearRatio?` | `number` | An allowed request'],
    ['reference/sluice/http.md', '## FetchLimiter '],
    ['reference/sluice-server.md', '`maxKey?` | `number` | Maximum length of a key'],
  ])('has the reference page %s, which says %s', (page, words) => expect(site.read(page)).toContain(words));

  it('describes every function in the reference with a sentence', () => {
    const silent = site.files
      .filter((file) => /^reference\/sluice.*\.md$/.test(file))
      .flatMap((page) =>
        site
          .read(page)
          .split(/^## (?=\w+\(\))/m)
          .slice(1)
          .filter((part) => {
            const [, ...lines] = (
              part.replaceAll(/^```[\s\S]*?^```$/gm, '').split(/^### (?!Call)/m)[0] ?? ''
            ).split('\n');
            return lines.every((line) => line === '' || line.startsWith('###'));
          })
          .map((part) => `${page}: ${part.split(' ')[0]}`),
      );
    expect(silent).toEqual([]);
  });

  it('includes guides, errors and the reference in the search index', () => {
    const index = site.files.find((file) => /@localSearchIndexroot\..*\.js$/.test(file)) ?? '';
    for (const address of ['/guides/llm-tokens.html', '/errors/ERR_COST.html', '/reference/sluice.html'])
      expect(site.read(index)).toContain(address);
  });

  it('has a chart in place of every chart marker on its pages', () => {
    const html = site.read('benchmarks.html');
    const asked = readFileSync(join(root, 'docs/benchmarks.md'), 'utf8').match(/^<!-- chart: /gm);
    expect(html.match(/<figure class="chart">/g)?.length).toBe(asked?.length);
    expect(html).not.toContain('NaN');
  });

  it('loads nothing from other hosts', () => {
    const foreign = pages().flatMap((page) => [
      ...site.read(page).matchAll(/<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?\/\/[^"]*"/g),
    ]);
    expect(foreign.map(([tag]) => tag)).toEqual([]);
  });

  it('has no broken link', () => {
    const ids = new Map(pages().map((page) => [page, idsOf(page)]));
    const broken = pages().flatMap((page) =>
      linksOf(page)
        .filter(({ file, anchor }) => {
          if (!site.files.includes(file)) return true;
          return anchor !== '' && pages().includes(file) && !ids.get(file)?.has(anchor);
        })
        .map(({ href }) => `${page}: ${href}`),
    );
    expect(broken).toEqual([]);
  });
});

describe('the logo', () => {
  it.each(Object.keys(drawLogo()))('is up to date: %s', (name) => {
    expect(drawLogo()[name] === readFileSync(logoFile(name), 'utf8'), 'node site/pictures/logo.mjs').toBe(
      true,
    );
  });

  it('is in the navigation of every page', () => {
    const logo = drawLogo()['logo.svg']?.trim() ?? 'missing';
    // A script draws the navigation of the page 404.
    expect(pages().filter((page) => !site.read(page).includes(logo))).toEqual(['404.html']);
  });
});

describe('llms.txt', () => {
  it('links to every page as Markdown', () => {
    const lines = site.read('llms.txt').match(/^- \[.+$/gm) ?? [];
    const targets = lines.map((line) => /\]\((.+?)\)/.exec(line)?.[1]?.replace(site.base, '') ?? line);
    expect(targets.filter((file) => !site.files.includes(file))).toEqual([]);
    expect(new Set(targets).size).toBe(pages().length - 2);
    expect(targets).toHaveLength(pages().length - 2);
  });

  it('has a complete sentence about every page', () => {
    const lines = site.read('llms.txt').match(/^- \[.+$/gm) ?? [];
    const isWhole = (line: string) =>
      /\]\([^)]+\): .{10,}[.?!]$/.test(line) &&
      ['()', '[]', '{}'].every(
        ([open = '', close = '']) => line.split(open).length === line.split(close).length,
      );
    expect(lines.filter((line) => !isWhole(line))).toEqual([]);
  });

  it('has a companion file, llms-full.txt, with the full text of the pages', () => {
    for (const words of ['# Start in five minutes', '# ERR_COST', '## createLimiter()'])
      expect(site.read('llms-full.txt')).toContain(words);
  });
});

describe('in a browser,', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
      args: ['--no-sandbox'],
    });
  });
  afterAll(() => browser?.close());

  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.on('pageerror', (error) => expect.soft(String(error)).toBe(''));
    page.on('console', (message) => {
      if (message.type() === 'error') expect.soft(message.text()).toBe('');
    });
    await page.goto(site.url + path);
    // The page is interactive once its script has drawn the navigation.
    await page.locator('html:has(.VPNav)').waitFor();
    return page;
  }

  /** With SHOTS=1, saves a screenshot for manual review. */
  async function shot(page: Page, name: string): Promise<void> {
    if (process.env['SHOTS'] !== '1') return;
    const folder = join(root, 'site/test-artefacts');
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`) });
  }

  /**
   * Frames are not checked, because the tests of the playground check its page in both themes. Leaving out selectors and all results
   * except violations reduces the time of a check to a third.
   */
  const AXE = {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'],
    resultTypes: ['violations' as const],
    selectors: false,
    iframes: false,
  };

  const LOOKS = (['light', 'dark'] as const).flatMap((scheme) =>
    [1440, 360].flatMap((width) =>
      ['index.html', 'algorithms/gcra.html'].map((path) => [path, scheme, width] as const),
    ),
  );

  test.each(LOOKS)(
    '%s has no accessibility violations and fits the screen in the %s theme at a width of %i pixels',
    async (path, colorScheme, width) => {
      const page = await open(path, {
        colorScheme,
        viewport: { width, height: 900 },
        reducedMotion: 'reduce',
      });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide).toBeLessThanOrEqual(width);
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(ground === 'rgb(255, 255, 255)').toBe(colorScheme === 'light');
      await shot(page, `${path.replaceAll(/\W/g, '-').replace('-html', '')}-${colorScheme}-${width}`);
      const axe = new AxeBuilder({ page }).options(AXE);
      // A narrow screen hides the sidebar.
      if (width < 960) axe.exclude('.VPSidebar');
      const { violations } = await axe.analyze();
      expect(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`),
      ).toEqual([]);
      await page.context().close();
    },
  );

  test('the page of an algorithm shows the playground with this algorithm, in the theme of the site', async () => {
    const page = await open('algorithms/sliding-log.html', { viewport: { width: 1440, height: 900 } });
    // Otherwise, the browser would report the emulated theme to the frame.
    await page.emulateMedia({ colorScheme: null });
    await page.locator('.try iframe').scrollIntoViewIfNeeded();
    const frame = page.frameLocator('.try iframe');
    const limits = frame.getByLabel(/^Limit \d$/);
    await expect.poll(() => limits.first().inputValue()).toBe('sliding-log { limit: 10, per: 10s }');
    const ground = () => frame.locator('body').evaluate((body) => getComputedStyle(body).backgroundColor);
    const light = await ground();
    await page.getByRole('switch').first().click();
    await expect.poll(ground).not.toBe(light);
    // The frame is as high as its content.
    const hidden = () => frame.locator('html').evaluate((html) => html.scrollHeight - html.clientHeight);
    await expect.poll(hidden).toBe(0);
    await page.context().close();
  });

  test('the playground opens with each algorithm that a page links to', async () => {
    const page = await browser.newPage();
    const algorithms = pages().filter((path) => path.startsWith('algorithms/'));
    expect(algorithms).toHaveLength(10);
    for (const path of algorithms) {
      const link = linksOf(path).find(({ href }) => href.includes('/play/index.html#'))?.href ?? '';
      await page.goto(new URL(link, site.url).href);
      const [, name = ''] = /algorithms\/(.+)\.html/.exec(path) ?? [];
      const texts = () =>
        page.getByLabel(/^Limit \d$/).evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
      await expect.poll(async () => (await texts()).join(' ')).toContain(`${name} {`);
      expect(await page.locator('[aria-invalid="true"]').count()).toBe(0);
    }
    expect(await page.getByRole('link', { name: 'Docs' }).getAttribute('href')).toBe(`${site.url}start.html`);
    await page.close();
  });

  /**
   * Shows the bodies of all pages in one browser page, one after the other and without scripts, which is much faster than loading
   * each page.
   */
  test('no page scrolls sideways on a phone', { timeout: 60_000 }, async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 740 }, javaScriptEnabled: false });
    await page.goto(`${site.url}start.html`);
    const wide: string[] = [];
    for (const path of pages()) {
      const [, body = ''] = /<body[^>]*>([\s\S]*)<\/body>/.exec(site.read(path)) ?? [];
      const width = await page.evaluate((html) => {
        document.body.innerHTML = html;
        return document.documentElement.scrollWidth;
      }, body);
      if (body === '' || width > 360) wide.push(`${path}: ${width}`);
    }
    await page.close();
    expect(pages().length).toBeGreaterThan(100);
    expect(wide).toEqual([]);
  });

  test.each([
    ['brute force password spraying', 'login-protection'],
    ['how do I limit by user', 'api-tiers'],
  ])('the first result of a search for "%s" is a guide', async (words, guide) => {
    const page = await open('index.html');
    await page.getByRole('button', { name: 'Search' }).first().click();
    await page.locator('#localsearch-input').fill(words);
    const first = page.locator('#localsearch-list a').first();
    await first.waitFor();
    await shot(page, guide === 'api-tiers' ? 'search-user' : 'search');
    await first.click();
    await page.waitForURL(`**/guides/${guide}.html*`);
    await page.context().close();
  });
});

interface Link {
  readonly href: string;
  readonly file: string;
  readonly anchor: string;
}

/** The links within the site and their target files. */
function linksOf(page: string): Link[] {
  return [...site.read(page).matchAll(/<a\b[^>]*\bhref="([^"]+)"/g)]
    .map((match) => match[1].replaceAll('&amp;', '&'))
    .filter((href) => !/^(https?:|mailto:|#$)/.test(href))
    .map((href) => {
      const { pathname, hash } = new URL(href, `http://site${site.base}${page}`);
      const path = decodeURIComponent(pathname.replace(site.base, ''));
      const file = path === '' || path.endsWith('/') ? `${path}index.html` : path;
      return { href, file, anchor: decodeURIComponent(hash.slice(1)) };
    });
}

function idsOf(page: string): Set<string> {
  return new Set([...site.read(page).matchAll(/\bid="([^"]+)"/g)].map((match) => match[1]));
}
