/** Tests the Live part against real servers in separate processes, with real traffic. Needs a build of the server. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { freePort, redisServer } from 'sluice-test-support/redis/server.ts';
import { type Started, started, temporaryFile } from '../../sluice-server/test/serving.ts';
import { faultsOf, openSite, type Site, shot } from './browser.ts';

vi.setConfig({ testTimeout: 60_000 });

let site: Site;
let page: Page | undefined;

beforeAll(async () => {
  site = await openSite();
}, 60_000);
afterAll(() => site?.close());
afterEach(async () => {
  if (page !== undefined) expect(faultsOf(page)).toEqual([]);
  await page?.context().close();
  page = undefined;
});

const LIMITS = `
limits:
  api: 100000/h
  login: 20/h sliding-log
  search: { policies: 5/h & 100/day fixed-window, shadow: true }
domain: edge
descriptors:
  - key: remote_address
    rate_limit: { unit: hour, requests_per_unit: 3 }
`;

const serve = (file: string, ...args: string[]): Promise<Started> =>
  started('--config', file, '--page', site.folder, ...args);

async function look(server: Started): Promise<Page> {
  page = await site.open(`${server.url}/#live`);
  await page.locator('.status', { hasText: 'Connected' }).waitFor();
  await page.locator('.now').waitFor();
  return page;
}

const fact = async (name: string): Promise<string> =>
  (await page?.locator('.now dl div', { hasText: name }).locator('dd').textContent()) ?? '';
const perSecond = async (name: string): Promise<number> => Number.parseFloat(await fact(name));
const row = (name: string) => page!.locator('.wide tbody tr', { hasText: name });

function post(server: Started, path: string, body: unknown): Promise<Response> {
  return fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) });
}

/** Sends `count` takes concurrently. */
function takes(server: Started, limit: string, key: string, count: number): Promise<Response> {
  return post(
    server,
    '/v1/take',
    Array.from({ length: count }, () => ({ limit, key })),
  );
}

/**
 * Sends `count` takes ten times per second until the test ends. If a busy machine misses some takes, they are sent with the next
 * ones.
 */
function traffic(server: () => Started, limit: string, key: string, count: number): void {
  let last = performance.now();
  const timer = setInterval(() => {
    const due = Math.min(10, Math.floor((performance.now() - last) / 100 + 0.1));
    last = due < 10 ? last + 100 * due : performance.now();
    if (due > 0) void takes(server(), limit, key, count * due).catch(() => {});
  }, 100);
  onTestFinished(() => clearInterval(timer));
}

const isAbout = (value: number, wanted: number): boolean => value > wanted * 0.6 && value < wanted * 1.4;

describe('the live page', () => {
  test('shows the rates, near-limit requests, denied keys and latency of the traffic', async () => {
    const server = await serve(temporaryFile(LIMITS));
    const own = await look(server);
    expect(await own.locator('.status').textContent()).toMatch(/Connected · sluice \d+\.\d+\.\d+, up since/);
    traffic(() => server, 'api', 'ann', 12);
    traffic(() => server, 'login', '203.0.113.9', 3);
    traffic(() => server, 'search', 'ben', 2);
    await expect.poll(async () => isAbout(await perSecond('Allowed'), 120), { timeout: 10_000 }).toBe(true);
    await expect.poll(async () => isAbout(await perSecond('Denied'), 30), { timeout: 10_000 }).toBe(true);
    expect(await fact('Latency p50')).toMatch(/^[\d.]+ ms$/);
    expect(await fact('Latency p99')).toMatch(/^[\d.]+ ms$/);
    expect([await fact('Store: memory'), await fact('Breaker'), await fact('Store p99')]).toEqual([
      'up',
      'closed',
      '–',
    ]);
    await expect
      .poll(async () => isAbout(Number.parseFloat(await row('api').locator('td.admitted').innerText()), 120))
      .toBe(true);
    expect(await row('login').locator('.policies').textContent()).toBe('20/h sliding-log');
    await expect.poll(() => row('search').textContent()).toMatch(/shadow.*would be [12]\d(\.\d)?\/s/);
    expect(await row('edge.remote_address').textContent()).toContain('3 per hour');
    await own.waitForTimeout(1000);
    await shot(own, 'live', true);
  });

  test('shows exact counts of near-limit requests and of the most denied keys', async () => {
    const server = await serve(temporaryFile(LIMITS));
    const own = await look(server);
    // The number is shown for only one second, so code in the page has to observe it.
    const near = own.waitForFunction(() => {
      const facts = [...document.querySelectorAll('.now dl div')];
      const fact = facts.find((one) => one.textContent?.includes('Near the limit'));
      return Number.parseFloat(fact?.querySelector('dd')?.textContent ?? '') > 1;
    });
    // Twenty requests are admitted, and the last four of them are near the limit. The other 37 are denied.
    await takes(server, 'login', 'mallory', 57);
    await takes(server, 'login', 'eve', 23);
    const entry = { entries: [{ key: 'remote_address', value: '192.0.2.1' }] };
    for (let i = 0; i < 5; i++) await post(server, '/json', { domain: 'edge', descriptors: [entry] });
    await near;
    const top = own.locator('.top-denied li');
    await expect
      .poll(() => top.allTextContents(), { timeout: 10_000 })
      .toEqual(['mallory login Why?37', 'eve login Why?3', '192.0.2.1 edge.remote_address2']);
    // A limit on Envoy descriptors has no key to look up.
    expect(await top.nth(0).getByRole('link').count()).toBe(1);
    expect(await top.nth(2).getByRole('link').count()).toBe(0);
    const names = await own.getByLabel('Limit', { exact: true }).locator('option').allTextContents();
    expect(names).toEqual(['api', 'login', 'search']);
  });

  test('shows an open breaker when Redis fails, and a closed breaker when Redis is back', async () => {
    const redis = await redisServer();
    const store = `redis://127.0.0.1:${redis.port}`;
    const server = await serve(temporaryFile(LIMITS), '--store', store, '--deadline', '1s');
    const own = await look(server);
    traffic(() => server, 'api', 'ann', 5);
    await expect.poll(() => fact('Store p99')).toMatch(/^[\d.]+ ms$/);
    const health = async () => [await fact('Store: redis'), await fact('Breaker')];
    await expect.poll(health).toEqual(['up', 'closed']);
    await redis.stop();
    await own.locator('dd.denied', { hasText: 'open' }).waitFor();
    await expect.poll(health).toEqual(['down', 'open']);
    // By default, the server decides locally during the outage, so there are fallback decisions instead of errors.
    await expect.poll(() => fact('Faults')).toMatch(/, [1-9]/);
    await shot(own, 'live-store-down', true);
    const again = await redisServer({ port: redis.port });
    onTestFinished(() => again.stop());
    await expect.poll(health, { timeout: 20_000 }).toEqual(['up', 'closed']);
  });

  test('shows a new configuration with its time, and the error in an invalid configuration', async () => {
    const file = temporaryFile('limits: { a: 1/h }');
    const server = await serve(file);
    const own = await look(server);
    const about = own.locator('.card', { hasText: 'Configuration' });
    expect(await about.textContent()).toMatch(/limits\.yaml, 1 limit, loaded \d+ s ago/);
    writeFileSync(file, 'limits:\n  a: 1/brust\n');
    await own.getByRole('alert').waitFor();
    expect(await own.getByRole('alert').textContent()).toMatch(/limits\.yaml:2:6: .*brust/);
    expect(await row('a').locator('.policies').textContent()).toBe('1/h');
    await shot(own, 'live-refused', true);
    writeFileSync(file, 'limits: { a: 2/h, b: 3/h }');
    await row('3/h').waitFor();
    await expect.poll(() => own.getByRole('alert').count()).toBe(0);
    await expect.poll(() => about.textContent()).toMatch(/2 limits, loaded \d s ago/);
  });

  test('looks up a key, and requires the admin token to block and reset it', async () => {
    const tokens = temporaryFile('let-me-in\n', 'tokens');
    const server = await serve(temporaryFile(LIMITS), '--admin-token-file', tokens);
    const own = await look(server);
    await takes(server, 'login', '203.0.113.9', 22);
    expect(await own.getByRole('button', { name: 'Send sample traffic' }).count()).toBe(0);
    // The link works with the keyboard, and moves the focus to the explanation.
    await own.getByRole('link', { name: '203.0.113.9' }).press('Enter');
    const answer = own.locator('.key-answer');
    await answer.getByText('0 of 20').waitFor();
    expect(await answer.textContent()).toMatch(
      /^203\.0\.113\.9 is denied by 20\/h sliding-log. Its next request passes in (60|59\.\d) min\./,
    );
    await expect.poll(() => own.evaluate(() => document.activeElement?.className)).toContain('key-panel');
    expect(own.url()).toMatch(/#live\?limit=login&key=203\.0\.113\.9$/);
    await own.getByRole('button', { name: 'Reset' }).click();
    await answer.getByText('an admin token is required').waitFor();
    await own.getByLabel('Admin token').pressSequentially('let-me-in', { delay: 20 });
    // The page updates every second, which must not change the input.
    await own.waitForTimeout(1100);
    expect(await own.getByLabel('Admin token').inputValue()).toBe('let-me-in');
    await own.getByRole('button', { name: 'Reset' }).click();
    await answer.getByText('20 of 20').waitFor();
    // The token also permits sample traffic, as soon as the stream has been opened with it.
    await own.getByRole('button', { name: 'Send sample traffic' }).waitFor();
    await own.getByLabel('How long to block').fill('2h');
    await own.getByRole('button', { name: 'Block for' }).click();
    await answer.getByText('is denied by a manual block, which ends in 2 h.').waitFor();
    await shot(own, 'live-key', true);
    const denied = (await (
      await post(server, '/v1/peek', { limit: 'login', key: '203.0.113.9' })
    ).json()) as {
      allowed: boolean;
      retryAfter: number;
    };
    expect(denied.allowed).toBe(false);
    expect(denied.retryAfter).toBeGreaterThan(7_100_000);
    await own.getByLabel('How long to block').fill('soon');
    await own.getByRole('button', { name: 'Block for' }).click();
    await answer.getByText('duration').waitFor();
  });

  test('shows traffic from before the page was opened, and opens its limits in the playground', async () => {
    const server = await serve(temporaryFile(LIMITS));
    await takes(server, 'login', 'mallory', 57);
    const own = await look(server);
    const denied = own.locator('tr', { hasText: 'login' }).getByRole('img');
    const isDrawn = (canvas: Element): boolean => {
      const { width, height } = canvas as HTMLCanvasElement;
      const context = (canvas as HTMLCanvasElement).getContext('2d');
      // The lowest row of pixels is the axis, which is always drawn.
      return (context?.getImageData(0, 0, width, height - 4).data ?? []).some((value) => value > 0);
    };
    await expect.poll(() => denied.evaluate(isDrawn)).toBe(true);
    await own.reload();
    await expect.poll(() => denied.evaluate(isDrawn)).toBe(true);
    expect(await own.locator('tr', { hasText: 'api' }).getByRole('img').evaluate(isDrawn)).toBe(false);
    await own.getByRole('link', { name: 'edge.remote_address' }).press('Enter');
    await own.locator('.lane').waitFor();
    expect(await own.getByLabel('Limit 1', { exact: true }).inputValue()).toBe('3/h fixed-window');
  });

  test('shows a command that takes a unit, if the page may not send sample traffic', async () => {
    const server = await serve(temporaryFile("limits: { Ann's: 100/min, login: 4/s }"));
    const own = await look(server);
    const note = own.locator('.quiet-note');
    await note.getByText('--allow-admin-without-token').waitFor();
    await shot(own, 'live-quiet');
    await own.setViewportSize({ width: 360, height: 740 });
    const bottomOf = async (place: Locator) => {
      const { y = 0, height = 0 } = (await place.boundingBox()) ?? {};
      return y + height;
    };
    expect(await bottomOf(note)).toBeLessThan(await bottomOf(own.locator('.now-chart')));
    await shot(own, 'live-quiet-360');
    const command = (await note.locator('.command').textContent()) ?? '';
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent`]);
    expect(JSON.parse(stdout)).toMatchObject({ allowed: true, remaining: 99 });
    await note.waitFor({ state: 'detached' });
  });

  test('shows what a server in shadow mode would deny, also from before the page was opened', async () => {
    const server = await serve(temporaryFile(LIMITS), '--shadow');
    await takes(server, 'login', 'mallory', 50);
    await look(server);
    await page!.locator('.status', { hasText: 'in shadow mode: no request is denied' }).waitFor();
    expect(await row('login').textContent()).toContain('would be');
    await page!.locator('h2', { hasText: 'Keys that would be denied most' }).waitFor();
    expect(await page!.locator('.quiet-note').count()).toBe(0);
    traffic(() => server, 'login', 'mallory', 2);
    await expect.poll(() => perSecond('Would be denied')).toBeGreaterThan(5);
  });

  test('sends sample traffic to each limit until it is stopped', async () => {
    const server = await serve(
      temporaryFile('limits: { api: 100/min, login: 4/s }'),
      '--allow-admin-without-token',
    );
    const own = await look(server);
    await own.getByText('No requests in the last hour.').waitFor();
    await own.getByRole('button', { name: 'Send sample traffic' }).press('Enter');
    await expect
      .poll(() => own.locator('.sample').textContent())
      .toMatch(/Sending synthetic traffic, 5\d s left/);
    await own.locator('.top-denied', { hasText: 'synthetic-greedy login' }).waitFor({ timeout: 20_000 });
    for (const name of ['api', 'login'])
      await expect.poll(() => row(name).locator('td.admitted').innerText()).not.toBe('0/s');
    expect(await own.getByText('No requests').count()).toBe(0);
    await own.getByRole('button', { name: 'Stop' }).press('Enter');
    await own.getByRole('button', { name: 'Send sample traffic' }).waitFor();
    await expect.poll(() => fact('Allowed')).toBe('0/s');
  });

  test('reconnects to a server that is killed and restarted, and shows the gap', async () => {
    const port = String(await freePort());
    const file = temporaryFile(LIMITS);
    let server = await serve(file, '--http', `127.0.0.1:${port}`);
    const own = await look(server);
    traffic(() => server, 'api', 'ann', 5);
    await expect.poll(() => perSecond('Allowed')).toBeGreaterThan(10);
    await own.waitForTimeout(1200);
    const before = await own.locator('.status').textContent();
    server.process.kill('SIGKILL');
    await own.getByText('Connection lost, trying again').waitFor();
    // The charts stay visible.
    expect(await own.locator('.now').count()).toBe(1);
    await own.waitForTimeout(2600);
    writeFileSync(file, 'limits: { api: 77/h }');
    server = await serve(file, '--http', `127.0.0.1:${port}`);
    await own.locator('.status', { hasText: 'Connected' }).waitFor({ timeout: 10_000 });
    await row('77/h').waitFor();
    expect(await own.locator('.status').textContent()).not.toBe(before);
    await expect.poll(() => perSecond('Allowed')).toBeGreaterThan(0);
    await own.waitForTimeout(1000);
    await shot(own, 'live-restarted', true);
  });

  test('reports a suspended server as lost, and reconnects when it continues', async () => {
    const server = await serve(temporaryFile(LIMITS));
    const own = await look(server);
    await expect.poll(() => fact('Store: memory')).toBe('up');
    server.process.kill('SIGSTOP');
    await own.getByText('the server sends no events').waitFor({ timeout: 20_000 });
    server.process.kill('SIGCONT');
    await own.locator('.status', { hasText: 'Connected' }).waitFor({ timeout: 10_000 });
  });

  test('asks for a token if the server requires one, and then opens the stream', async () => {
    const tokens = temporaryFile('let-me-in\n', 'tokens');
    const server = await serve(temporaryFile(LIMITS), '--http-token-file', tokens);
    page = await site.open(`${server.url}/#live`);
    await page.getByText('The server requires a token').waitFor();
    await page.getByLabel('Token').fill('let-me-in');
    await page.getByLabel('Token').press('Enter');
    await page.locator('.now').waitFor();
  });

  test('does not shift the layout while the first numbers arrive', async () => {
    const server = await serve(temporaryFile(LIMITS));
    await takes(server, 'login', 'mallory', 57);
    const own = await look(server);
    await own.evaluate(() => {
      const all: number[] = [];
      Object.assign(window, { shifts: all });
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) all.push((entry as unknown as { value: number }).value);
      }).observe({ type: 'layout-shift', buffered: true });
    });
    traffic(() => server, 'api', 'ann', 12);
    await own.locator('.top-denied', { hasText: 'mallory' }).waitFor();
    await own.waitForTimeout(1200);
    const shifts = await own.evaluate(() => (window as unknown as { shifts: number[] }).shifts);
    expect(shifts.reduce((sum, one) => sum + one, 0)).toBeLessThan(0.02);
  });

  test('says what to do if there is no server', async () => {
    page = await site.open('#live');
    await page.getByText('This page is not served by a Sluice server').waitFor();
    await shot(page, 'live-absent');
  });
});
