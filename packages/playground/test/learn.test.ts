import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { CHAPTERS } from '../src/learn/chapters.ts';
import { createInstance, SHOWN } from '../src/learn/instance.ts';
import { fromQuery } from '../src/model/state.ts';
import { read } from '../src/model/policy.ts';
import { faultsOf, openSite, settled, type Site, shot } from './browser.ts';

vi.setConfig({ testTimeout: 60_000 });

let site: Site;
beforeAll(async () => {
  site = await openSite();
}, 60_000);
afterAll(() => site?.close());

test.each(CHAPTERS)(
  'the chapter $title simulates the limit that its code shows, starts with admissions and denials, and links to a valid state',
  (chapter) => {
    const instance = createInstance(chapter);
    const [options] = /\{.*\}/.exec(chapter.code) ?? [''];
    const { limit = 0, size = limit } = runInNewContext(`(${options})`) as Record<string, number>;
    expect(chapter.id === 'gcra' ? 3 : size).toBe(instance.limit);
    instance.advance(SHOWN);
    const passed = instance.asks.filter(({ allowed }) => allowed).length;
    expect(passed).toBeGreaterThan(8);
    if (chapter.waits) expect(instance.asks.some(({ at, passes }) => passes > at)).toBe(true);
    else expect(passed).toBeLessThan(instance.asks.length);
    for (const text of fromQuery(chapter.query).limits) expect(read(text).mistake).toBeUndefined();
  },
);

test('a running chapter discards requests that have left its picture', () => {
  const instance = createInstance(CHAPTERS[0]);
  instance.advance(20 * SHOWN);
  expect(instance.asks.length).toBeLessThan(60);
  expect(instance.levels.length).toBeLessThan(1000);
});

test('every picture is animated, and reports how many of the requests that the reader sends pass', async () => {
  const page = await site.open('#learn');
  const canvases = page.locator('figure canvas');
  expect(await canvases.count()).toBe(CHAPTERS.length);
  for (let i = 0; i < CHAPTERS.length; i++) {
    const figure = page.locator('figure').nth(i);
    await figure.scrollIntoViewIfNeeded();
    const picture = () =>
      figure.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
    const before = await picture();
    await expect.poll(picture).not.toBe(before);
    for (let j = 0; j < 3; j++) await figure.getByRole('button', { name: 'Send ×5' }).click();
    expect(await figure.getByRole('status').textContent()).toMatch(/^[0-5] of 5 passed$/);
    await figure.getByRole('button', { name: 'Pause' }).click();
    await settled(picture);
  }
  await page.evaluate(() => scrollTo(0, 0));
  await shot(page, 'learn', true);
  expect(faultsOf(page)).toEqual([]);
  await page.context().close();
});

test('pictures are paused if the user prefers reduced motion', async () => {
  const page = await site.open('#learn', { reducedMotion: 'reduce' });
  const picture = () =>
    page
      .locator('figure canvas')
      .first()
      .evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL());
  await expect.poll(async () => (await picture()).length).toBeGreaterThan(3000);
  await settled(picture);
  await page.context().close();
});

test('a chapter links to the playground with its own limit', async () => {
  const page = await site.open('#learn');
  await page.getByRole('link', { name: 'Try pacer in the playground' }).click();
  expect(await page.getByLabel('Limit 1', { exact: true }).inputValue()).toBe('2/s pacer');
  expect(await page.getByLabel('when denied').inputValue()).toBe('5000');
  await page.context().close();
});
