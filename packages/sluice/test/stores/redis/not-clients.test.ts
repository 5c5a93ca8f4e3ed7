/** Values that look like a client but cannot be used as one are rejected when the store is created. */
import { Batch, GlideClient, Logger } from '@valkey/valkey-glide';
import { Redis } from 'ioredis';
import * as iovalkey from 'iovalkey';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, expectTypeOf, inject, test } from 'vitest';
import { createLimiter, SluiceError } from '../../../src/index.ts';
import { type RedisClient, redis } from '../../../src/stores/redis/index.ts';
import { CLIENTS, ONCE, PATIENT } from 'sluice-test-support/redis/clients.ts';
import { ioredis4, redis3 } from 'sluice-test-support/redis/old-clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { until } from 'sluice-test-support/redis/watch.ts';

const at = { port: inject('redisPort'), lazyConnect: true };
const unconnected = new Redis(at);
const nodeRedis = createClient();

const IS_NO_CLIENT = 'must be a client of ioredis, iovalkey, node-redis, valkey-glide, @upstash/redis or Bun';

test.each<[string, unknown, string]>([
  ['undefined', undefined, IS_NO_CLIENT],
  ['null', null, IS_NO_CLIENT],
  ['a number', 42, IS_NO_CLIENT],
  ['an empty object', {}, IS_NO_CLIENT],
  ['client options', { host: 'localhost', port: 6379 }, IS_NO_CLIENT],
  ['an object without the methods of a client', { get() {} }, IS_NO_CLIENT],
  ['an address', 'redis://localhost', 'is an address; pass a client that is connected to it'],
  ['a URL', new URL('redis://localhost'), 'is an address; pass a client that is connected to it'],
  ['the ioredis class', Redis, 'is a function; pass the client that it creates'],
  ['the function createClient', createClient, 'is a function; pass the client that it creates'],
  ['a custom function', () => {}, 'is a function; pass the client that it creates'],
  ['a module', iovalkey, 'is a module; pass a client'],
  ['a promise of a client', Promise.resolve(unconnected), 'is a promise; await it and pass the client'],
  ['an ioredis pipeline', unconnected.pipeline(), 'is a pipeline or transaction'],
  ['an ioredis 4 pipeline', new ioredis4(at).pipeline(), 'is a pipeline or transaction'],
  ['a valkey-glide batch', new Batch(true), 'is a pipeline or transaction'],
  [
    'a node-redis 1 client',
    { send_command() {} },
    'is a client of an old version of node-redis; use version 3',
  ],
  ['the legacy interface of node-redis', nodeRedis.legacy(), 'pass the client itself, not client.legacy()'],
  [
    'a node-redis transaction',
    nodeRedis.multi(),
    'pass the client itself, not client.legacy() or client.multi()',
  ],
])('redis() rejects %s as a client', (_, client, words) => {
  expect(() => redis(client as RedisClient)).toThrow(SluiceError);
  expect(() => redis(client as RedisClient)).toThrow(
    expect.objectContaining({ code: 'ERR_OPTIONS', option: 'redis.client' }),
  );
  expect(() => redis(client as RedisClient)).toThrow(words);
});

describe('a closed connection', () => {
  let server: Server;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  const refusal = 'redis.client is closed; pass a client that is connected or still connecting';

  test.each(['ioredis', 'iovalkey', 'ioredis 4', 'ioredis 5'])('of %s is rejected', async (name) => {
    const connected = await CLIENTS[name](server.port);
    const { client } = connected;
    redis(client);
    await connected.close();
    await until(() => (client as unknown as Redis).status === 'end');
    expect(() => redis(client)).toThrow(refusal);
  });

  test('of node-redis 3 is rejected', () => {
    const client = redis3.createClient({ port: server.port });
    redis(client);
    client.end(true);
    expect(() => redis(client)).toThrow(refusal);
  });

  test('of valkey-glide is rejected', async () => {
    Logger.setLoggerConfig('off');
    const addresses = [{ host: '127.0.0.1', port: server.port }];
    const client = await GlideClient.createClient({ addresses, ...PATIENT });
    redis(client);
    client.close();
    expect(() => redis(client)).toThrow(refusal);
  });

  test('is accepted if ioredis has not opened it yet', async () => {
    const client = new Redis({ ...at, ...ONCE, port: server.port });
    const limiter = createLimiter('3/h', { store: redis(client, { deadline: '5s' }), name: 'lazy' });
    expect((await limiter.take('a')).remaining).toBe(2);
    client.disconnect();
  });

  test('is accepted if node-redis has not opened it yet, because connect() may still be called', async () => {
    const client = createClient({ socket: { port: server.port } });
    client.on('error', () => {});
    const limiter = createLimiter('3/h', { store: redis(client, { deadline: '5s' }), name: 'not yet' });
    await client.connect();
    expect((await limiter.take('a')).remaining).toBe(2);
    client.destroy();
  });
});

test("the type of Bun's client is accepted", () => {
  /** The client as Bun declares it. */
  interface BunClient {
    send(command: string, args: string[]): Promise<unknown>;
    onconnect: ((this: BunClient) => void) | null;
  }
  expectTypeOf<BunClient>().toExtend<RedisClient>();
  // Without `onconnect`, the store would treat the client as an object with send(command).
  expectTypeOf<Pick<BunClient, 'send'>>().not.toExtend<RedisClient>();
});

test("the Redis store warns once when Bun's client has stopped reconnecting", async () => {
  const given: (string | undefined)[] = [];
  const listen = (warning: Error & { code?: string }) => void given.push(warning.code);
  process.on('warning', listen);
  // What Bun's client does after it has stopped reconnecting.
  const send = () => Promise.reject(new Error('ERR_REDIS_CONNECTION_CLOSED: Connection has failed'));
  const store = redis({ send, onconnect: null }, { onFailure: 'allow', onEvent() {} });
  const limiter = createLimiter('3/h', { store, name: 'bun' });
  for (const key of ['a', 'b']) expect((await limiter.take(key)).allowed).toBe(true);
  await until(() => given.length > 0);
  process.off('warning', listen);
  expect(given).toEqual(['SLUICE_REDIS_GAVE_UP']);
});
