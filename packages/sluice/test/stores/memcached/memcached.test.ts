/** Tests the Memcached store on a server that this test starts. */
import Memcached from 'memcached';
import { Client } from 'memjs';
import { memcachedServer } from 'sluice-test-support/memcached/server.ts';
import type { Server } from 'sluice-test-support/redis/server.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLimiter, gcra } from '../../../src/index.ts';
import { type MemcachedClient, memcached } from '../../../src/stores/memcached/index.ts';
import { conformance } from '../../../src/testing/index.ts';
import { contenders } from '../contenders.ts';
import { admittedByTwo, NODE } from '../writers.ts';

const patient = { deadline: '30s', onFailure: 'throw' } as const;
let server: Server;
const ends: (() => unknown)[] = [];

/** Connects a client of each package. */
const CLIENTS = {
  memjs(port = server.port): MemcachedClient {
    const client = Client.create(`127.0.0.1:${port}`, { timeout: 10, logger: { log() {} } });
    ends.push(() => client.close());
    return client;
  },
  memcached(port = server.port): MemcachedClient {
    const client = new Memcached(`127.0.0.1:${port}`, { retries: 0 });
    ends.push(() => client.end());
    return client;
  },
};
const shared = new Map<string, MemcachedClient>();
/** Deletes everything on the server. */
const flush = () =>
  new Promise<void>((resolve) => {
    new Memcached(`127.0.0.1:${server.port}`).flush(() => resolve());
  });

beforeAll(async () => {
  server = await memcachedServer();
  for (const [name, connect] of Object.entries(CLIENTS)) shared.set(name, connect());
});

afterAll(async () => {
  for (const end of ends) end();
  await server.stop();
});

describe.each(['memjs', 'memcached'] as const)('the Memcached store with a client of %s', (name) => {
  const client = () => shared.get(name) as MemcachedClient;

  // One server serves all claims, each with its own limiter name.
  beforeAll(flush);
  for (const claim of conformance((clock) => memcached(client(), { ...patient, clock })))
    test(claim.name, claim.run);

  for (const claim of contenders(() => memcached(CLIENTS[name](), patient), false))
    test(claim.name, claim.run);

  test('keeps a value until it is fully replenished, even if that takes more than a month', async () => {
    const store = memcached(client(), patient);
    for (const per of ['365d', '100000d'] as const) {
      const limiter = createLimiter(gcra({ limit: 1, per }), { store, name: `long ${per} ${name}` });
      expect((await limiter.take('k')).allowed).toBe(true);
      expect((await limiter.take('k')).allowed).toBe(false);
    }
  });

  test('reports an unreachable server as a connection fault', async () => {
    const store = memcached(CLIENTS[name](1), patient);
    await expect(createLimiter('1/s', { store, name: 'api' }).take('k')).rejects.toMatchObject({
      fault: 'connection',
    });
  });
});

describe('the Memcached store', () => {
  test('shares rows between both clients', async () => {
    const [one, other] = ['memjs', 'memcached'].map((client) =>
      createLimiter('10/h', { store: memcached(shared.get(client) as never, patient), name: 'shared' }),
    );
    await one?.take('k', 4);
    expect((await other?.take('k', 4))?.remaining).toBe(2);
    expect((await one?.peek('k'))?.remaining).toBe(2);
  });

  test('admits exactly the limit in two processes', async () => {
    expect(await admittedByTwo(NODE, 'memjs', `127.0.0.1:${server.port}`)).toEqual({
      oneKey: 500,
      manyKeys: 100,
    });
  }, 60_000);

  test.each([
    ['an address', 'localhost:11211', 'is an address; it must be a client of memjs'],
    ['a class', Client, 'is a function; it must be a client of memjs'],
    ['undefined', undefined, 'must be a client of memjs'],
    ['another object', { get() {}, set() {} }, 'must be a client of memjs'],
  ])('rejects %s and says what to pass', (_, given, words) => {
    expect(() => memcached(given as never)).toThrow(words);
  });

  test('requires a name, because the counts outlive the process', () => {
    expect(() => createLimiter('1/s', { store: memcached(shared.get('memjs') as never) } as never)).toThrow(
      'name',
    );
  });
});
