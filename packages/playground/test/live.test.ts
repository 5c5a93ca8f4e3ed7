import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { faultsOf, openSite, type Site, shot } from './browser.ts';
import { type FakeLiveServer, openFakeLiveServer, TOKEN } from './fake-live-server.ts';

vi.setConfig({ testTimeout: 30_000 });

let site: Site;
let server: FakeLiveServer;
let page: Page;

beforeAll(async () => {
  site = await openSite();
}, 60_000);
afterAll(() => site?.close());
beforeEach(async () => {
  server = await openFakeLiveServer(site.folder);
});
afterEach(async () => {
  if (page !== undefined) expect(faultsOf(page)).toEqual([]);
  await page?.context().close();
  await server.close();
});

const status = () => page.locator('.status').textContent();
const fact = (name: string) => page.locator('.now dl div', { hasText: name }).locator('dd').textContent();
const rows = () => page.locator('.wide tbody tr');

async function look(): Promise<void> {
  page = await site.open(`${server.url}#live`);
  await page.locator('.now').waitFor();
}

test('rates, near misses, latency and the store are shown per second', async () => {
  await look();
  expect(await status()).toContain('Connected');
  expect(await status()).toContain('sluice 9.9.9');
  // 12 in a tenth of a second.
  expect(await fact('Allowed')).toBe('120/s');
  expect(await fact('Denied')).toBe('30/s');
  expect(await fact('Near the limit')).toBe('20/s');
  expect(await fact('Latency p99')).toBe('0.9 ms');
  expect(await fact('Store: redis')).toBe('up');
  expect(await fact('Breaker')).toBe('closed');
  expect(await rows().count()).toBe(2);
  expect(await rows().nth(0).textContent()).toContain('10/s burst 20');
  expect(await rows().nth(1).textContent()).toContain('shadow');
  await page.waitForTimeout(1500);
  await shot(page, 'live', true);
});

test('a store that fails and a breaker that opens stand out', async () => {
  await look();
  server.snapshot = {
    ...server.snapshot,
    latency: null,
    store: { kind: 'redis', up: false, breaker: 'open', p99: null, faults: 7, fallbacks: 40 },
  };
  await page.locator('dd.denied', { hasText: 'open' }).waitFor();
  expect(await fact('Store: redis')).toBe('down');
  expect(await fact('Faults')).toBe('7, 40');
  expect(await fact('Latency p50')).toBe('–');
});

test('a new configuration appears with its time, a wrong one with its fault', async () => {
  await look();
  const about = page.locator('.card', { hasText: 'Configuration' });
  expect(await about.textContent()).toContain('limits.yaml, 2 limits, loaded 3');
  server.config = {
    ...server.config,
    loadedAt: Date.now(),
    limits: [{ name: 'search', policies: '3/s', shadow: false }],
    error: 'limits.yaml:3:8: unknown word "brust"',
  };
  server.sayConfig();
  await page.getByRole('alert').waitFor();
  expect(await about.textContent()).toContain('1 limits, loaded 0 s ago');
  expect(await page.getByRole('alert').textContent()).toContain('limits.yaml:3:8');
  await page.locator('.wide', { hasText: 'search' }).waitFor();
});

test('the page survives a restart of the server, and the gap shows', async () => {
  await look();
  const { port } = server;
  await server.close();
  await page.getByText('Connection lost, trying again').waitFor();
  expect(await page.locator('.now').count()).toBe(1);
  server = await openFakeLiveServer(site.folder, { port });
  server.config = { ...server.config, version: '10.0.0' };
  await page.getByText('sluice 10.0.0').waitFor();
  expect(await status()).toContain('Connected');
});

test('a server that falls silent is taken for lost, and asked again', { timeout: 20_000 }, async () => {
  await look();
  server.fallSilent();
  await page.getByText('the server says nothing').waitFor({ timeout: 8000 });
  await page.getByText('Connected').waitFor();
});

test('a key is looked up; resetting and blocking it need the token', async () => {
  await look();
  await page.getByRole('button', { name: '203.0.113.9' }).click();
  await page.getByRole('button', { name: 'Look up' }).click();
  const answer = page.locator('.key-answer');
  await answer.getByText('0 of 20').waitFor();
  expect(await answer.textContent()).toContain('may pass in 1.5 s');
  await page.getByRole('button', { name: 'Block for' }).click();
  await answer.getByText('A token is needed').waitFor();
  await page.getByLabel('Admin token').pressSequentially(TOKEN, { delay: 50 });
  expect(await page.getByLabel('Admin token').inputValue()).toBe(TOKEN);
  await page.getByLabel('How long to block').fill('2h');
  await page.getByRole('button', { name: 'Block for' }).click();
  await answer.getByText('Blocked').waitFor();
  await page.getByRole('button', { name: 'Reset' }).click();
  await answer.getByText('20 of 20').waitFor();
  const asked = { limit: 'api', key: '203.0.113.9' };
  expect(server.calls).toEqual([
    { path: '/v1/peek', token: '', body: asked },
    { path: '/v1/block', token: '', body: { ...asked, duration: '10m' } },
    { path: '/v1/block', token: TOKEN, body: { ...asked, duration: '2h' } },
    { path: '/v1/reset', token: TOKEN, body: asked },
  ]);
  await shot(page, 'live-key', true);
});

test('a stream behind a token is opened with it', async () => {
  await server.close();
  server = await openFakeLiveServer(site.folder, { needsToken: true });
  page = await site.open(`${server.url}#live`);
  await page.getByText('The server wants a token').waitFor();
  await page.getByLabel('Token').fill(TOKEN);
  await page.getByLabel('Token').press('Enter');
  await page.locator('.now').waitFor();
});

test('without a server the page says what to do', async () => {
  page = await site.open('#live');
  await page.getByText('This page is not served by a Sluice server').waitFor();
  await shot(page, 'live-absent');
});
