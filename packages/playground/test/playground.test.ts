import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { faultsOf, openSite, settled, type Site, shot, statsOf } from './browser.ts';

vi.setConfig({ testTimeout: 60_000 });

let site: Site;
let page: Page;

beforeAll(async () => {
  site = await openSite();
  page = await site.open();
}, 60_000);
afterAll(() => site?.close());

const lane = (index: number) => page.locator('.lane').nth(index);
const limitText = (index: number) => page.getByLabel(`Limit ${index + 1}`, { exact: true });
const slider = (index: number, name: string) => lane(index).getByRole('slider', { name });

async function fresh(query = ''): Promise<void> {
  expect(faultsOf(page)).toEqual([]);
  await page.context().close();
  page = await site.open(query === '' ? '' : `#playground?${query}`);
}

/** The share of the middle band's pixels that have the color for exceeding the limit. draw/lane.ts defines the bands. */
async function loud(index: number): Promise<number> {
  return lane(index)
    .locator('canvas')
    .evaluate((canvas: HTMLCanvasElement) => {
      const scale = canvas.width / canvas.clientWidth;
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      const { data } = context.getImageData(0, 74 * scale, canvas.width, 46 * scale);
      let count = 0;
      for (let i = 0; i < data.length; i += 4)
        if (data[i] > 150 && data[i + 2] < 100 && data[i + 3] > 100) count++;
      return count / (data.length / 4);
    });
}

describe('the initial page', () => {
  test('highlights the double burst of the fixed window, which sliding-log and gcra do not allow', async () => {
    expect(await statsOf(page, 0)).toMatchObject({ Admitted: '40', Denied: '20', 'Worst 10 s': '20 of 10' });
    expect(await statsOf(page, 1)).toMatchObject({ Admitted: '30', 'Worst 10 s': '10 of 10' });
    await expect.poll(() => loud(0)).toBeGreaterThan(0.08);
    expect(await loud(1)).toBe(0);
    expect(await loud(2)).toBeLessThan(0.02);
    expect(await lane(0).locator('.over').count()).toBe(1);
    await shot(page, 'playground-light');
  });
});

describe('the controls of a limit', () => {
  test('keep the text and the sliders in sync', async () => {
    await fresh();
    await limitText(0).fill('25/30s token-bucket burst 5');
    expect(await slider(0, 'limit').getAttribute('aria-valuetext')).toBe('25');
    expect(await slider(0, 'per').getAttribute('aria-valuetext')).toBe('30 s');
    expect(await slider(0, 'burst').getAttribute('aria-valuetext')).toBe('5');
    expect(await lane(0).getByLabel('Algorithm').inputValue()).toBe('token-bucket');
    await slider(0, 'limit').press('ArrowRight');
    await slider(0, 'per').press('ArrowLeft');
    expect(await limitText(0).inputValue()).toBe('30/20s token-bucket burst 5');
    await lane(0).getByLabel('Algorithm').selectOption('sliding-window');
    expect(await limitText(0).inputValue()).toBe('30/20s sliding-window');
  });

  test('mark invalid words, and do not change the chart', async () => {
    await fresh();
    const before = await statsOf(page, 0);
    await limitText(0).fill('10/10s fixed-windwo');
    expect(await lane(0).locator('mark').textContent()).toBe('fixed-windwo');
    expect(await lane(0).locator('.mistake').textContent()).toBe('unknown word "fixed-windwo"');
    expect(await limitText(0).getAttribute('aria-invalid')).toBe('true');
    const [mark, input] = [await lane(0).locator('mark').boundingBox(), await limitText(0).boundingBox()];
    expect(mark?.x).toBeGreaterThan((input?.x ?? 0) + 50);
    expect(await statsOf(page, 0)).toEqual(before);
    await shot(page, 'playground-mistake');
    await limitText(0).fill('10/10s fixed-window');
    expect(await lane(0).locator('mark').count()).toBe(0);
  });

  test('combine two limits in one lane, where both limits must allow a request', async () => {
    await fresh('limit=10%2F10s');
    await lane(0).getByText('+ Combine with another limit').click();
    expect(await limitText(0).inputValue()).toBe('10/10s & 20/40s fixed-window');
    await expect.poll(() => statsOf(page, 0)).toMatchObject({ Admitted: '20' });
    await lane(0).getByLabel('Remove this limit').last().click();
    expect(await limitText(0).inputValue()).toBe('10/10s');
  });

  test('offer every algorithm, with sliders for its options', async () => {
    await fresh('limit=10%2F10s');
    const algorithm = lane(0).getByLabel('Algorithm').first();
    const names = await algorithm.locator('option').allTextContents();
    expect(names).toHaveLength(10);
    for (const name of names.filter((one) => one !== 'penalty')) {
      await algorithm.selectOption(name);
      await expect.poll(async () => Number((await statsOf(page, 0))['Admitted'])).toBeGreaterThan(5);
      expect(await lane(0).locator('.mistake').textContent()).toBe('');
    }
    await limitText(0).fill('10/10s');
    await algorithm.selectOption('concurrency');
    expect(await limitText(0).inputValue()).toBe('concurrency { limit: 10, lease: 10s }');
    await slider(0, 'lease').press('ArrowLeft');
    await slider(0, 'limit').press('ArrowLeft');
    expect(await limitText(0).inputValue()).toBe('concurrency { limit: 9, lease: 5s }');
    await limitText(0).fill('concurrency { limit: 9, leese: 5s }');
    await expect.poll(() => lane(0).locator('mark').textContent()).toBe('leese: 5s');
  });

  test('add a penalty to the limit for which it was chosen, and show its block', async () => {
    await fresh('limit=10%2F10s&traffic=steady&rate=3&length=60000');
    const before = Number((await statsOf(page, 0))['Admitted']);
    await lane(0).getByLabel('Algorithm').selectOption('penalty');
    expect(await limitText(0).inputValue()).toBe('10/10s & penalty { after: 3, within: 10s, block: 10s }');
    await expect.poll(async () => Number((await statsOf(page, 0))['Admitted'])).toBeLessThan(before);
    await lane(0).getByLabel('Next denied request').click();
    for (let i = 0; i < 5; i++) await lane(0).getByLabel('Next denied request').click();
    await expect
      .poll(() => lane(0).locator('.why p').textContent())
      .toMatch(/was denied by penalty \{.*\}: blocked\. It would pass in .*10\/10s: \d+ of 10 left/);
    await page.getByRole('radio', { name: 'CLI' }).check();
    expect(await page.locator('.code pre').textContent()).toContain(
      'sluice simulate --config limits.yaml --limit api --traffic steady:3/s --for 1m',
    );
    await page.getByRole('radio', { name: 'YAML' }).check();
    expect(await page.locator('.code pre').textContent()).toContain(
      '- { algorithm: penalty, after: 3, within: 10s, block: 10s }',
    );
    await shot(page, 'penalty');
  });
});

test('lanes can be added up to four, and removed down to one', async () => {
  await fresh();
  const add = page.getByRole('button', { name: 'Compare another limit' });
  await add.click();
  expect(await page.locator('.lane').count()).toBe(4);
  expect(await add.isDisabled()).toBe(true);
  for (let i = 0; i < 3; i++) await page.getByLabel('Remove limit 1').click();
  expect(await page.locator('.lane').count()).toBe(1);
  expect(await page.getByLabel('Remove limit 1').isDisabled()).toBe(true);
});

describe('traffic', () => {
  test.each([
    ['Steady', 'rate', '80 requests'],
    ['Bursts', 'each burst', '80 requests'],
    ['Poisson', 'seed', 'requests'],
    ['Rogue script', 'the script', 'requests'],
  ])('of kind %s changes the chart, and so do its sliders', async (name, knob, said) => {
    await fresh();
    const before = await statsOf(page, 0);
    await page.getByRole('radio', { name }).check();
    await expect.poll(() => page.locator('.story').textContent()).toContain(said);
    await expect.poll(() => statsOf(page, 0)).not.toEqual(before);
    const after = await statsOf(page, 0);
    await page.locator('.knobs').getByRole('slider', { name: knob }).press('PageUp');
    await expect.poll(() => statsOf(page, 0)).not.toEqual(after);
    await shot(page, `traffic-${name.toLowerCase().replace(' ', '-')}`);
  });

  test('from a rogue script leads to denials only for the script, as the table shows', async () => {
    await fresh('limit=10%2F10s&traffic=rogue');
    const rows = page.locator('.by-key tbody tr');
    expect(await rows.first().locator('th').textContent()).toBe('script');
    expect(Number(await rows.first().locator('td').nth(1).textContent())).toBeGreaterThan(50);
    for (let i = 1; i < 6; i++) expect(await rows.nth(i).locator('td').nth(1).textContent()).toBe('0');
    await page.getByLabel('level of').selectOption('ann');
    expect(await page.getByLabel('level of').inputValue()).toBe('ann');
  });

  test('from a log file that is dropped on the page is replayed', async () => {
    await fresh('limit=2%2Fs');
    const lines = Array.from(
      { length: 30 },
      (_, i) =>
        `203.0.113.${i % 2} - - [10/Oct/2025:13:55:${10 + Math.floor(i / 10)} +0000] "GET / HTTP/1.1" 200 1`,
    );
    await page.evaluate((text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], 'access.log'));
      document.body.dispatchEvent(
        new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }),
      );
    }, lines.join('\n'));
    await page.getByText('access.log: 2 keys').waitFor();
    // Each of two keys sends five requests per second, and two of them pass.
    await expect.poll(() => statsOf(page, 0)).toMatchObject({ Admitted: '12', Denied: '18' });
    await page.getByRole('radio', { name: 'CLI' }).check();
    expect(await page.locator('.code pre').textContent()).toBe(
      "sluice replay access.log --policy '2/s' --by ip\n",
    );
    await shot(page, 'traffic-log');
  });

  test('from a file that is not a log shows an error', async () => {
    await fresh();
    await page.getByRole('radio', { name: 'Recorded log' }).check();
    await page.setInputFiles('input[type=file]', {
      name: 'a.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('hello you'),
    });
    await page.getByText('a.txt contains no line with a valid time').waitFor();
  });

  test('that may wait is admitted later instead of being denied', async () => {
    await fresh('limit=10%2F10s+burst+3');
    const before = await statsOf(page, 0);
    await page.getByLabel('when denied').selectOption({ label: 'wait up to 5 s' });
    await expect.poll(async () => (await statsOf(page, 0))['Mean wait']).toMatch(/ s$/);
    const after = await statsOf(page, 0);
    expect(Number(after['Admitted'])).toBeGreaterThan(Number(before['Admitted']));
    expect(after['Longest']).toMatch(/^4\.?\d* s$|^5 s$/);
  });
});

describe('the explanation of a request', () => {
  test('names the policy, the remaining units, and when the request would pass', async () => {
    await fresh('limit=10%2F10s+sliding-log');
    const canvas = lane(0).locator('canvas');
    const box = await canvas.boundingBox();
    if (box === null) throw new Error('no picture');
    // The denied second burst lasts from 10 s to 11 s of the 40 s.
    await canvas.click({ position: { x: (10.45 / 40) * box.width, y: 45 } });
    const why = lane(0).locator('.why p');
    expect(await why.textContent()).toMatch(
      /Request 15 at 10\.4 s was denied by 10\/10s sliding-log: 0 of 10 left\. It would pass in 8\.6 s, at 19\.1 s\./,
    );
    await shot(page, 'why');
    await lane(0).getByLabel('Next denied request').click();
    expect(await why.textContent()).toContain('Request 16');
    await lane(0).getByLabel('Previous denied request').press('Enter');
    expect(await why.textContent()).toContain('Request 15');
  });

  test('disappears when the traffic changes', async () => {
    await fresh('limit=10%2F10s+sliding-log');
    await lane(0).getByLabel('Next denied request').click();
    const why = lane(0).locator('.why p');
    await expect.poll(() => why.textContent()).toContain('was denied');
    await page.getByRole('radio', { name: 'Steady' }).check();
    await expect.poll(() => why.textContent()).toBe('Click a denied request to see why.');
  });

  test('shows the numbers of each of several policies', async () => {
    await fresh('limit=10%2F10s+fixed-window+%26+15%2F40s+sliding-log');
    await lane(0).getByLabel('Next denied request').click();
    const text = await lane(0).locator('.why p').textContent();
    expect(text).toContain('was denied by 15/40s sliding-log: 0 of 15 left');
    expect(text).toContain('10/10s fixed-window: 5 of 10 left');
  });
});

describe('costs by policy', () => {
  const costField = (name: string) => lane(0).getByRole('spinbutton', { name });

  test('decide which policy denies, and appear in the explanation, the link and the code', async () => {
    await fresh('limit=10%2F10s+fixed-window+%26+100%2Fmin+sliding-log');
    await lane(0).getByLabel('Next denied request').click();
    const why = lane(0).locator('.why p');
    await expect.poll(() => why.textContent()).toContain('was denied by 10/10s fixed-window');
    expect(await why.textContent()).not.toContain('cost');
    const field = costField('100/min sliding-log');
    await field.focus();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.type('12.50');
    expect(await field.inputValue()).toBe('12.50');
    await expect.poll(() => statsOf(page, 0)).toMatchObject({ Admitted: '8', 'Worst 60 s': '100 of 100' });
    await lane(0).getByLabel('Previous denied request').click();
    expect(await why.textContent()).toMatch(
      /was denied by 100\/min sliding-log: 0 of 100 left, cost 12\.5\. .*10\/10s fixed-window: 10 of 10 left, cost 1 ·/,
    );
    expect(await field.inputValue()).toBe('12.5');
    expect(await page.locator('.code pre').textContent()).toContain(
      "take('alice', { cost: { '10/10s fixed-window': 1, '100/min sliding-log': 12.5 } })",
    );
    await expect.poll(() => page.url()).toContain('cost=1%2C12.5');
    await shot(page, 'costs');
    const other = await site.open(page.url());
    expect(await statsOf(other, 0)).toEqual(await statsOf(page, 0));
    await other.context().close();
  });

  test('are not changed by invalid input, and stay with their policy when another policy is removed', async () => {
    await fresh('limit=10%2F10s+%26+20%2F20s+%26+90%2Fmin&cost=1,2,3');
    await costField('20/20s').fill('');
    await costField('90/min').fill('-4');
    await costField('10/10s').focus();
    expect(await costField('20/20s').inputValue()).toBe('2');
    expect(await costField('90/min').inputValue()).toBe('3');
    await lane(0).getByLabel('Remove this limit').first().click();
    expect(await costField('20/20s').inputValue()).toBe('2');
    expect(await costField('90/min').inputValue()).toBe('3');
    await lane(0).getByLabel('Remove this limit').first().click();
    expect(await lane(0).getByRole('spinbutton').count()).toBe(0);
    await expect.poll(() => page.url()).not.toContain('cost');
  });
});

describe('playback', () => {
  test('moves from the start to the end, and updates the numbers', async () => {
    await fresh();
    await page.getByLabel('Speed').selectOption('10');
    // Code in the page observes the playback, because the test itself might see only the end on a busy machine.
    const seen = await page.evaluate(async () => {
      const numbers: number[] = [];
      const button = document.querySelector<HTMLButtonElement>('.play');
      button?.click();
      do {
        await new Promise(requestAnimationFrame);
        numbers.push(Number(document.querySelector('.stats dd')?.textContent));
      } while (button?.getAttribute('aria-label') === 'Pause');
      return numbers;
    });
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen[0]).toBeLessThan(40);
    expect(new Set(seen).size).toBeGreaterThan(5);
    expect((await statsOf(page, 0))['Admitted']).toBe('40');
  });

  test('keeps its position when paused, and continues with the space key', async () => {
    await fresh();
    await page.getByLabel('Speed').selectOption('2');
    await page.locator('h1').click({ force: true });
    await page.keyboard.press(' ');
    await page.waitForTimeout(300);
    await page.keyboard.press(' ');
    const at = await settled(() => page.locator('.clock').textContent());
    expect(at).not.toContain('40.0 s /');
  });

  test('shows the run up to the time that the slider selects', async () => {
    await fresh();
    const scrubber = page.getByRole('slider', { name: 'Time' });
    await scrubber.focus();
    await page.keyboard.press('Home');
    expect(await statsOf(page, 0)).toMatchObject({ Admitted: '0', Denied: '0', 'Mean retry-after': '–' });
    await scrubber.evaluate((input: HTMLInputElement) => {
      input.value = '300';
      input.dispatchEvent(new Event('input', { bubbles: true }));
    });
    expect(await page.locator('.clock').textContent()).toContain('12.0 s');
    expect(await statsOf(page, 0)).toMatchObject({ Admitted: '20', Denied: '0' });
    await shot(page, 'scrubbed');
  });

  test('moves to the time under the pointer when the chart is dragged', async () => {
    await fresh();
    const box = await lane(1).locator('canvas').boundingBox();
    if (box === null) throw new Error('no picture');
    await page.mouse.move(box.x + box.width * 0.9, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 5 });
    await page.mouse.up();
    expect(await page.locator('.clock').textContent()).toMatch(/^(19\.9|20\.0|20\.1) s/);
  });
});

describe('exporting:', () => {
  test('the URL contains the whole state', async () => {
    await fresh();
    await limitText(1).fill('7/5s & 100/h fixed-window');
    await page.getByRole('radio', { name: 'Poisson' }).check();
    await page.locator('.knobs').getByRole('slider', { name: 'rate' }).press('ArrowRight');
    await expect.poll(() => page.url()).toContain('rate=2');
    const [url, stats] = [page.url(), await statsOf(page, 1)];
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy link to this page' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(url);
    const other = await site.open(url);
    expect(await statsOf(other, 1)).toEqual(stats);
    expect(await other.getByLabel('Limit 2', { exact: true }).inputValue()).toBe('7/5s & 100/h fixed-window');
    await other.context().close();
  });

  test('the code contains the numbers on the page, and is copied exactly as it is shown', async () => {
    await fresh('limit=7%2F3s+burst+2');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await slider(0, 'limit').press('ArrowRight');
    for (const [language, expected] of [
      ['TypeScript', "createLimiter(gcra({ limit: 8, per: '3s', burst: 2 }))"],
      ['YAML', 'api: 8/3s burst 2'],
      ['CLI', "sluice replay traffic.log --policy '8/3s burst 2'"],
    ]) {
      await page.getByRole('radio', { name: language }).check();
      await page.locator('.code .copy').click();
      const copied = () => page.evaluate(() => navigator.clipboard.readText());
      await expect.poll(copied).toContain(expected);
      expect(await copied()).toBe(await page.locator('.code pre').textContent());
    }
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save traffic.log' }).click();
    expect((await saved).suggestedFilename()).toBe('traffic.log');
  });
});

test('the page reported no errors during these tests', () => {
  expect(faultsOf(page)).toEqual([]);
});
