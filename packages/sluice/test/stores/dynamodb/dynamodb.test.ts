/** Tests the DynamoDB store with Amazon's client, on dynalite, an emulator in this process. It does not contact AWS. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDB, DynamoDBClient } from '@aws-sdk/client-dynamodb';
// @ts-expect-error dynalite has no types.
import dynalite from 'dynalite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createLimiter } from '../../../src/index.ts';
import { dynamodb, migration } from '../../../src/stores/dynamodb/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';
import { admittedByTwo, NODE } from '../writers.ts';

const server = (dynalite as (options: { createTableMs: number }) => Server)({ createTableMs: 0 });
const clients: DynamoDB[] = [];
let shared: DynamoDB;
const patient = { deadline: '30s', onFailure: 'throw' } as const;
const endpoint = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

function connected(url = endpoint()): DynamoDB {
  const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };
  const client = new DynamoDB({ endpoint: url, region: 'local', credentials });
  clients.push(client);
  return client;
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  shared = connected();
  await shared.createTable(migration().createTable);
  const isReady = async () =>
    (await shared.describeTable({ TableName: 'sluice' })).Table?.TableStatus === 'ACTIVE';
  await vi.waitUntil(isReady, { timeout: 10_000, interval: 20 });
});

afterAll(async () => {
  for (const client of clients) client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

describe('the DynamoDB store', () => {
  // One table serves all claims, each with its own limiter name.
  for (const claim of conformance((clock) => dynamodb(shared, { ...patient, clock })))
    test(claim.name, claim.run);

  for (const claim of contenders(() => dynamodb(connected(), patient), false)) test(claim.name, claim.run);

  test('admits exactly the limit in two processes', async () => {
    expect(await admittedByTwo(NODE, 'dynamodb', endpoint(), 80)).toEqual({ oneKey: 100, manyKeys: 20 });
  }, 60_000);

  test("stores the expiry of a row in seconds since 1970, as DynamoDB's time to live requires", async () => {
    await createLimiter('1/h', { store: dynamodb(shared, patient), name: 'expiry' }).take('k');
    const { Item } = await shared.getItem({ TableName: 'sluice', Key: { key: { S: 'expiry:k' } } });
    const expected = Date.now() / 1000 + 3600;
    expect(Math.abs(Number(Item?.['expires']?.N) - expected)).toBeLessThan(30);
    expect(migration({ table: 'limits' }).updateTimeToLive).toEqual({
      TableName: 'limits',
      TimeToLiveSpecification: { AttributeName: 'expires', Enabled: true },
    });
  });

  test('charges once if the reply to a write was lost and the client sent the write again', async () => {
    const client = connected();
    let sent = 0;
    // Loses the first reply to a write, after the server has applied the write.
    client.middlewareStack.add(
      (next, context) => async (args) => {
        const isFirst = context['commandName'] === 'PutItemCommand' && ++sent === 1;
        const reply = await next(args);
        if (isFirst)
          throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError', $retryable: {} });
        return reply;
      },
      { step: 'deserialize', priority: 'high' },
    );
    const limiter = createLimiter('10/h', { store: dynamodb(client, patient), name: 'lost reply' });
    expect((await limiter.take('k', 3)).remaining).toBe(7);
    expect(sent).toBe(2);
    expect((await limiter.peek('k')).remaining).toBe(7);
  });

  test('rejects a check if the table is missing, with the input that creates it', async () => {
    const store = dynamodb(shared, { ...patient, table: 'missing' });
    const failure = createLimiter('10/h', { store, name: 'api' }).take('k');
    await expect(failure).rejects.toMatchObject({ code: 'ERR_TABLE' });
    await expect(failure).rejects.toThrow('client.createTable({"TableName":"missing"');
  });

  test('reports an unreachable service as a connection fault', async () => {
    const store = dynamodb(connected('http://127.0.0.1:1'), patient);
    await expect(createLimiter('10/h', { store, name: 'api' }).take('k')).rejects.toMatchObject({
      fault: 'connection',
    });
  });

  test.each([
    [
      'a DynamoDBClient',
      new DynamoDBClient({ region: 'local' }),
      'pass new DynamoDB() from @aws-sdk/client-dynamodb',
    ],
    ['an AWS SDK 2 client', { getItem() {}, putItem() {} }, 'is a client of the AWS SDK 2'],
    ['undefined', undefined, 'must be a DynamoDB client, such as new DynamoDB()'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => dynamodb(given as never)).toThrow(words);
  });
});
