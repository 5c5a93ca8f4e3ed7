/**
 * Tests examples/stores/dynamodb.mjs with Amazon's client, on an emulator of DynamoDB in this process. It does not contact AWS.
 */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
// @ts-expect-error it has no types
import dynalite from 'dynalite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { casStore, createLimiter, gcra, slidingLog } from '../../../src/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { races } from './races.ts';
import { type AnyService, example } from './services.ts';

const { dynamodb } = await example('dynamodb.mjs');
const server = (dynalite as (options: { createTableMs: number }) => Server)({ createTableMs: 0 });
const clients: DynamoDB[] = [];
let shared: AnyService;
const patient = { deadline: '30s', onFailure: 'throw' } as const;

function connected(): DynamoDB {
  const client = new DynamoDB({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'local',
    credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
    maxAttempts: 1,
  });
  clients.push(client);
  return client;
}

const serviceOn = (client: DynamoDB, table = 'limits') => dynamodb?.(client, table) as AnyService;

async function rowOf(key: string) {
  const { Item } = await connected().getItem({ TableName: 'limits', Key: { key: { S: key } } });
  return Item;
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connected();
  await client.createTable({
    TableName: 'limits',
    AttributeDefinitions: [{ AttributeName: 'key', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'key', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
  });
  const ready = async () =>
    (await client.describeTable({ TableName: 'limits' })).Table?.TableStatus === 'ACTIVE';
  await vi.waitUntil(ready, { timeout: 10_000, interval: 20 });
  shared = serviceOn(client);
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

describe('DynamoDB', () => {
  // One table serves all claims, each with its own limiter name.
  for (const claim of conformance((clock) => casStore(shared, { clock, ...patient })))
    test(claim.name, claim.run);

  test('admits exactly the limit for two simultaneous clients, and nothing for a third', async () => {
    let lost = 0;
    const limiterOn = (service: AnyService) => {
      const put: AnyService['put'] = async (...row) => {
        const written = await service.put(...row);
        if (!written) lost++;
        return written;
      };
      const store = casStore({ get: (key) => service.get(key), put }, patient);
      return createLimiter(slidingLog({ limit: 60, per: '1d' }), { store, name: 'two' });
    };
    let admitted = 0;
    await Promise.all(
      [limiterOn(serviceOn(connected())), limiterOn(serviceOn(connected()))].map(async (limiter) => {
        for (let i = 0; i < 40; i++) {
          const { allowed } = await limiter.take('k');
          if (allowed) admitted++;
        }
      }),
    );
    expect(admitted).toBe(60);
    // The two clients did conflict.
    expect(lost).toBeGreaterThan(0);
    expect((await limiterOn(serviceOn(connected())).take('k')).allowed).toBe(false);
  });

  for (const claim of races(() => serviceOn(connected()))) test(claim.name, claim.run);

  test('expires a row in whole seconds, at most a second after it is fully replenished', async () => {
    const before = Date.now();
    const limiter = createLimiter('1/min', { store: casStore(shared, patient), name: 'expiry' });
    const { resetAfter } = await limiter.take('k');
    const expires = (await rowOf('expiry:k'))?.['expires']?.N ?? '';
    expect(expires).toMatch(/^\d+$/);
    expect(Number(expires) * 1000).toBeGreaterThanOrEqual(before + resetAfter);
    expect(Number(expires) * 1000).toBeLessThanOrEqual(Date.now() + resetAfter + 1000);
  });

  test('ignores a row that has expired but was not removed yet', async () => {
    const limiter = createLimiter(gcra({ limit: 1, per: '20ms' }), {
      store: casStore(shared, patient),
      name: 'past',
    });
    expect((await limiter.take('k')).allowed).toBe(true);
    await expect.poll(async () => (await limiter.take('k')).allowed).toBe(true);
    expect(await rowOf('past:k')).toBeDefined();
  });

  test('reports a missing table as a fault, not as a conflict', async () => {
    const store = casStore(serviceOn(connected(), 'missing'), patient);
    await expect(createLimiter('1/s', { store, name: 'api' }).take('k')).rejects.toMatchObject({
      fault: 'unknown',
    });
    await expect(
      Promise.resolve(serviceOn(connected(), 'missing').put('k', Uint8Array.of(1), undefined, 1000)),
    ).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });
});
