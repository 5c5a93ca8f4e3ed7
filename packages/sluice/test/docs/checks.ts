/** Additional checks for code blocks that run in their own process, besides the output that they promise. */
import { connect } from 'node:net';
import { expect } from 'vitest';
import { createLimiter } from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { until } from 'sluice-test-support/redis/watch.ts';
import type { Place } from './machine.ts';

/**
 * Expects the server to admit at least as many requests as its policy allows, and then to answer 429 with Retry-After.
 * Units that are replenished during the test may be admitted as well.
 */
export async function refusesInTheEnd(port: number): Promise<void> {
  // Cloudflare's proxy sends this header; other servers ignore it.
  const headers = { 'cf-connecting-ip': '192.0.2.1' };
  const ask = () => fetch(`http://127.0.0.1:${port}/`, { headers });
  let response = await ask();
  expect([response.status, (await response.text()).trim()]).toEqual([200, 'hello']);
  const limit = Number(/q=(\d+)/.exec(response.headers.get('ratelimit-policy') ?? '')?.[1]);
  expect(response.headers.get('ratelimit') ?? 'no header').toMatch(new RegExp(`;r=${limit - 1};`));
  let passed = 0;
  for (; response.status === 200 && passed < 3 * limit; passed++) {
    response = await ask();
    await response.text();
  }
  expect([response.status, response.headers.has('retry-after')]).toEqual([429, true]);
  expect(passed).toBeGreaterThanOrEqual(limit);
}

/** Whether a server accepts connections on a socket. The socket file may exist although no server uses it. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Checks of specific blocks, by the page and, if the block has one, its file name. */
export const CHECKS: Readonly<Record<string, (place: Place) => Promise<void>>> = {
  async 'docs/guides/metrics.md'({ port }) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toMatch(
      /^sluice_decisions_total\{limiter="api",policy="default",outcome="allowed"\} \d{3}$/m,
    );
    expect(text).toMatch(/^sluice_decisions_total\{limiter="api",policy="default",outcome="denied"\} 1$/m);
  },
  /** The block serves other processes, so the test sends hits to its socket. */
  async 'packages/sluice/src/stores/ipc/README.md limits'({ socket }) {
    await until(() => isServed(socket));
    const stores = [ipc({ path: socket, serve: false }), ipc({ path: socket, serve: false })];
    const [one, other] = stores.map((store) => createLimiter('10/h', { store, name: 'api' }));
    expect(await one?.take('alice', 7)).toMatchObject({ allowed: true, source: 'store' });
    expect(await other?.take('alice', 5)).toMatchObject({ allowed: false, source: 'store' });
    for (const store of stores) await store.close();
  },
};
