/** Behavior that is specific to `@upstash/redis`, which sends commands over HTTP. The tests of all clients run on it as well. */
import { Redis } from '@upstash/redis';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, type Decision, gcra, type Limiter } from '../../../src/index.ts';
import { type RedisOptions, redis } from '../../../src/stores/redis/index.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { type RestServer, restServer } from 'sluice-test-support/redis/upstash.ts';

let server: Server;
let rest: RestServer;
beforeAll(async () => {
  server = await redisServer();
  rest = await restServer(server.port);
});
afterAll(async () => {
  await rest.stop();
  await server.stop();
});
afterEach(() => {
  rest.losesReplies = false;
});

/** The script calls that were received for a limiter. */
const checksOf = (name: string): string[][] =>
  rest.received.filter(([, script, , key]) => key.startsWith(name) && !script.includes('maxmemory'));

const client = (options: object = {}): Redis => new Redis({ url: rest.url, token: rest.token, ...options });

function limiterOn(given: Redis, name: string, options: RedisOptions = {}): Limiter<Promise<Decision>> {
  const store = redis(given, { onFailure: 'throw', deadline: '10s', ...options });
  return createLimiter(gcra({ limit: 5, per: '1h' }), { store, name });
}

describe('the Redis store, through @upstash/redis,', () => {
  test.each([
    ['the default settings', {}],
    ['automatic deserialization switched off', { automaticDeserialization: false }],
    ['replies that are not encoded', { responseEncoding: false }],
    ['automatic pipelining switched off', { enableAutoPipelining: false }],
    ['retries switched off', { retry: false }],
  ])('counts with %s', async (settings, options) => {
    const limiter = limiterOn(client(options), settings);
    expect(await limiter.take('a', 2)).toMatchObject({ allowed: true, remaining: 3, source: 'store' });
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, remaining: 3, source: 'store' });
  });

  test('sends all checks of a tick in one request', async () => {
    const limiter = limiterOn(client(), 'batch');
    await limiter.take('warm up');
    const before = checksOf('batch').length;
    const decisions = await Promise.all(Array.from({ length: 20 }, (_, i) => limiter.take(`key ${i}`)));
    expect(decisions.every(({ allowed }) => allowed)).toBe(true);
    const sent = checksOf('batch').slice(before);
    expect(sent.map(([name, , keys]) => [name, keys])).toEqual([['EVALSHA', '20']]);
  });

  // A serverless platform cancels a request together with the invocation that sent it, so no check may wait for the request of
  // another invocation.
  test('does not wait for the answer to an earlier check', async () => {
    const limiter = limiterOn(client(), 'ticks');
    await limiter.take('warm up');
    const before = checksOf('ticks').length;
    const decisions: Promise<Decision>[] = [];
    for (let i = 0; i < 8; i++) {
      decisions.push(limiter.take(`key ${i}`));
      await new Promise(setImmediate);
    }
    await Promise.all(decisions);
    expect(checksOf('ticks').length - before).toBe(8);
  });

  test.each([
    ['default settings, with which the client alone would send the request six times', {}],
    ['retry: false, with which the client alone would send the request twice', { retry: false }],
  ])('sends a request only once, even if its reply was lost: %s', async (settings, options) => {
    const limiter = limiterOn(client(options), `lost, ${settings}`);
    await limiter.take('a');
    const before = checksOf('lost').length;
    rest.losesReplies = true;
    await expect(limiter.take('a')).rejects.toMatchObject({ fault: 'connection' });
    rest.losesReplies = false;
    expect(checksOf('lost').length - before).toBe(1);
    expect((await limiter.peek('a')).remaining).toBe(3);
  });

  test('does not change the retry settings of the client', async () => {
    const given = client();
    await limiterOn(given, 'unchanged').take('a');
    const { retry } = (given as unknown as { client: { retry: { attempts: number } } }).client;
    expect(retry.attempts).toBe(5);
  });

  test('rejects with ERR_PERMISSION if the token is wrong, regardless of onFailure', async () => {
    const limiter = limiterOn(client({ token: 'wrong' }), 'wrong token', { onFailure: 'allow' });
    await expect(limiter.take('a')).rejects.toMatchObject({ code: 'ERR_PERMISSION' });
  });

  test('does not mistake a key for the error code of the server', async () => {
    const limiter = limiterOn(client({ token: 'wrong' }), 'codes');
    await expect(limiter.take('NOSCRIPT')).rejects.toMatchObject({ code: 'ERR_PERMISSION' });
    expect(checksOf('codes')).toHaveLength(1);
  });

  test('reports errors without the command, which contains the keys and the script', async () => {
    const limiter = limiterOn(client({ token: 'wrong' }), 'secrets');
    await expect(limiter.take('alice@example.com')).rejects.toThrow(
      /^(?!.*(?:alice|command was)).*WRONGPASS/,
    );
  });
});

describe('redis() rejects', () => {
  const incomplete = 'is a client of @upstash/redis without a URL or a token; set UPSTASH_REDIS_REST_URL';
  const { warn } = console;
  beforeAll(() => {
    // The client prints a warning and accepts the missing settings.
    console.warn = () => {};
  });
  afterAll(() => {
    console.warn = warn;
  });

  test.each([
    ['without a URL', { url: undefined }],
    ['without a token', { token: undefined }],
    ['with an empty token', { token: '' }],
  ])('an @upstash/redis client %s', (_, options) => {
    expect(() => redis(client(options))).toThrow(incomplete);
  });

  test('a pipeline and a transaction of @upstash/redis', () => {
    const given = client();
    for (const open of [given.pipeline(), given.multi()])
      expect(() => redis(open as unknown as Redis)).toThrow('is a pipeline or transaction');
  });
});
