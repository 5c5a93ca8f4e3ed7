import { afterAll, describe, expect, test } from 'vitest';
import { postgresServer } from '../../sluice/test/postgres/server.ts';
import { redisServer } from '../../sluice/test/redis/server.ts';
import { openStore, UsageError } from '../src/store.ts';
import { serving } from './serving.ts';

const LIMITS =
  'limits: { a: 3/h }\ndomain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]';
const QUESTION = { limit: 'a', key: 'x' };

describe('a store that does not answer', () => {
  test('is a 503 with a fault, and /metrics say so; when it is back, all is as before', async () => {
    const redis = await redisServer();
    const server = await serving(LIMITS, {
      store: { url: `redis://127.0.0.1:${redis.port}`, deadline: '100ms' },
    });
    expect((await server.post('/v1/take', QUESTION)).status).toBe(200);
    await redis.stop();
    for (let i = 0; i < 6; i++) expect((await server.post('/v1/take', QUESTION)).status).toBe(503);
    const response = await server.post('/v1/take', QUESTION);
    expect(response.headers.get('retry-after')).toBe('1');
    expect(await response.json()).toMatchObject({
      type: 'urn:sluice:store-unavailable',
      fault: expect.any(String),
    });
    const json = { domain: 'd', descriptors: [{ entries: [{ key: 'k', value: 'v' }] }] };
    expect((await server.post('/json', json)).status).toBe(503);
    expect((await server.post('/v1/take', [QUESTION, QUESTION])).status).toBe(503);
    const metrics = server.core.metrics.text();
    expect(metrics).toContain('sluice_store_up 0');
    expect(metrics).toMatch(/sluice_store_errors_total\{fault="circuit-open"\} [1-9]/);
    expect(server.lines.join('')).toContain('the store does not answer');

    const again = await redisServer({ port: redis.port });
    await expect
      .poll(async () => (await server.post('/v1/take', QUESTION)).status, { timeout: 10_000 })
      .toBe(200);
    expect(server.core.metrics.text()).toContain('sluice_store_up 1');
    await server.drain();
    await again.stop();
  }, 30_000);

  test('with --on-failure allow, lets pass', async () => {
    const redis = await redisServer();
    const url = `redis://127.0.0.1:${redis.port}`;
    const server = await serving(LIMITS, { store: { url, deadline: '50ms', onFailure: 'allow' } });
    await redis.stop();
    const response = await server.post('/v1/take', QUESTION);
    expect(await response.json()).toMatchObject({ allowed: true, source: 'fallback' });
    await server.drain();
  });
});

describe('Postgres', () => {
  let stop = async (): Promise<void> => {};
  afterAll(() => stop());

  test('keeps the limits, and makes its table itself', async () => {
    const postgres = await postgresServer();
    stop = () => postgres.stop();
    await postgres.pool().query('DROP TABLE sluice');
    const server = await serving(LIMITS, { store: { url: postgres.url, deadline: '5s' } });
    const allowed: boolean[] = [];
    for (let i = 0; i < 4; i++) {
      const response = await server.post('/v1/take', QUESTION);
      allowed.push(((await response.json()) as { allowed: boolean }).allowed);
    }
    expect(allowed).toEqual([true, true, true, false]);
    await server.drain();
  }, 60_000);
});

test.each(['mysql://x', 'redis+cluster://', 'redis+sentinel://a:1', ''])('%j is no store', async (url) => {
  await expect(openStore({ url })).rejects.toThrow(UsageError);
});

test('passwords are shown nowhere', async () => {
  const { name, store } = await openStore({ url: 'redis://user:secret@127.0.0.1:1/2' });
  expect(name).toBe('redis://user:***@127.0.0.1:1/2');
  await store.close();
});
