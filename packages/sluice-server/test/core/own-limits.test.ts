/** Tests many limits that come with requests instead of the configuration. */
import { memory } from 'sluice';
import { manualClock } from 'sluice/testing';
import { expect, test } from 'vitest';
import { unpunctuality } from 'sluice-test-support/redis/watch.ts';
import { parseConfig } from '../../src/config/config.ts';
import { createCore } from '../../src/core/core.ts';
import type { Descriptor } from '../../src/core/descriptors.ts';
import { openGrpc } from '../../src/listeners/grpc/grpc.ts';
import { opened } from '../listeners/listeners.ts';
import { clientOf, RATE_LIMIT } from '../listeners/grpc/client.ts';

const RULES = `
domain: shop
descriptors:
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 10 }
`;
const START = 1_700_000_010_000;
const CALLS = 60;
const DESCRIPTORS = 1000;

const config = parseConfig([{ file: 'limits.yaml', text: RULES }]);

function asks(limit: number, key = 'path', value = '/a'): Descriptor {
  return { entries: [{ key, value }], limit: { requestsPerUnit: limit, unit: 'minute' } };
}

test('60 calls that each contain 1,000 new limits do not block the event loop', async () => {
  const { port } = await opened(openGrpc, RULES, { store: memory({ clock: manualClock(START) }) });
  const { call } = clientOf(port, RATE_LIMIT);
  const ask = (i: number): Promise<{ statuses: { limitRemaining: number }[] }> => {
    const descriptors = Array.from({ length: DESCRIPTORS }, (_, j) => ({
      entries: [{ key: 'path', value: '/a' }],
      limit: { requestsPerUnit: 100_000 + i * DESCRIPTORS + j, unit: 'MINUTE' },
    }));
    return call('ShouldRateLimit', { domain: 'shop', descriptors });
  };
  // The first calls warm up the JIT compiler.
  for (let i = 0; i < CALLS / 2; i++) await ask(i);
  const late = unpunctuality();
  let last = 0;
  for (let i = CALLS / 2; i < CALLS; i++) last = (await ask(i)).statuses.at(-1)?.limitRemaining ?? 0;
  late.stop();
  // All descriptors charge the same key.
  expect(last).toBe(100_000 - 1);
  // The measured time includes the client's work. The calls took seconds when each limit was found by a linear search.
  expect(late.busiest()).toBeLessThan(200);
});

test('a request with a new limit is decided as fast after 80,000 other limits as before them', async () => {
  const core = createCore(config, { store: memory({ clock: manualClock(START) }) });
  let limit = 1e6;
  const tookOf = async (count: number): Promise<number> => {
    const start = process.cpuUsage();
    for (let i = 0; i < count; i++) await core.decide('shop', [asks(limit++)]);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / count;
  };
  await tookOf(20_000);
  const first = await tookOf(10_000);
  await tookOf(50_000);
  const last = await tookOf(10_000);
  expect(last).toBeLessThan(first * 4);
});

test("a key's usage counts toward every limit that later requests contain, even after thousands of limits", async () => {
  const core = createCore(config, { store: memory({ clock: manualClock(START) }) });
  for (let i = 0; i < 2000; i++) {
    const { statuses } = await core.decide('shop', [asks(5000 + i)]);
    expect(statuses[0]?.limitRemaining).toBe(5000 + i - (i + 1));
  }
  // Other entries and other values are counted separately.
  const { statuses } = await core.decide('shop', [asks(5000, 'path', '/b'), asks(5000, 'user', '/a')]);
  expect(statuses.map(({ limitRemaining }) => limitRemaining)).toEqual([4999, 4999]);
});

test('each descriptor of a request is decided by its own limit', async () => {
  const core = createCore(config, { store: memory({ clock: manualClock(START) }) });
  const descriptors = [asks(3), asks(1), asks(5), { ...asks(5), isNegativeHits: true }, asks(0), asks(3)];
  const { statuses } = await core.decide('shop', descriptors);
  expect(statuses.map(({ code, limitRemaining }) => `${code} ${limitRemaining}`)).toEqual([
    'OK 2',
    'OVER_LIMIT 0',
    'OK 2',
    'OK 3',
    'OVER_LIMIT 0',
    'OK 0',
  ]);
});

test('a limit keeps its state through 40 reloads with different numbers', async () => {
  const core = createCore(config, { store: memory({ clock: manualClock(START) }) });
  const reload = (limit: number): Promise<void> =>
    core.reload(
      parseConfig([
        { file: 'limits.yaml', text: `limits:\n  api: ${limit}/h fixed-window\n` },
        { file: 'shop.yaml', text: RULES.replace('requests_per_unit: 10', `requests_per_unit: ${limit}`) },
      ]),
    );
  for (let i = 0; i < 40; i++) {
    await reload(1000 + i);
    expect((await core.take('api', 'k')).remaining).toBe(1000 + i - (i + 1));
    const { statuses } = await core.decide('shop', [{ entries: [{ key: 'path', value: '/a' }] }]);
    expect(statuses[0]?.limitRemaining).toBe(1000 + i - (i + 1));
  }
});
