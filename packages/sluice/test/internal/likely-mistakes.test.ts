/** Tests the most likely mistakes of new users. Each full error message names the problem, the received value and the fix. */
import { Redis } from 'ioredis';
import pg from 'pg';
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { limitedFetch } from '../../src/http/index.ts';
import * as sluice from '../../src/index.ts';
import { createLimiter, gcra, memory, penalty, SluiceError } from '../../src/index.ts';
import { rateLimit as express } from '../../src/middleware/express.ts';
import { rateLimit as hono } from '../../src/middleware/hono.ts';
import { rateLimit as koa } from '../../src/middleware/koa.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { postgres } from '../../src/stores/postgres/index.ts';
import { redis } from '../../src/stores/redis/index.ts';

/** A function without checked types, as JavaScript code would call it. */
type Untyped = (...args: unknown[]) => unknown;
const create = createLimiter as Untyped;
const limiter = createLimiter('5/min');
const verbs = limiter as unknown as Record<string, Untyped>;
const policy = gcra({ limit: 10, per: '1m' });
const rateLimit = express as Untyped;
const ioredis = new Redis({ lazyConnect: true });
const nodeRedis = createClient();
const pool = new pg.Pool();

const POLICY = "policies must be a policy, such as '100/min' or gcra({ limit: 100, per: '1m' })";
const STORE = 'must be a store, such as memory() or redis(client)';
const WRAP_REDIS = "wrap the client: redis(client) from 'sluice/redis'";
const FUNCTION =
  'a policy function must return a policy synchronously; load limits beforehand, or choose a tier per call';
const RATE_LIMIT = 'rateLimit must be an object with options, or a limiter';
const IN_LIMITER = "it belongs to the limiter: rateLimit({ limiter: createLimiter('100/min') })";

type Mistake = [what: string, make: () => unknown, message: string];

function claims(mistakes: Mistake[]): void {
  test.each(mistakes)('the error message says what is wrong with %s', async (_, make, message) => {
    const error = await Promise.resolve()
      .then(make)
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    expect(error).toBeInstanceOf(SluiceError);
    expect((error as SluiceError).message).toBe(message);
  });
}

describe('policies', () => {
  claims([
    ['a call without arguments', () => create(), `${POLICY}; got undefined [ERR_POLICY]`],
    ['a number', () => create(10), `${POLICY}; got 10 [ERR_POLICY]`],
    [
      'the options of a policy factory',
      () => create({ limit: 10, per: '1m' }),
      `${POLICY} (use gcra({ limit: 10, per: '1m' }) or '10/1m'); got an object [ERR_POLICY]`,
    ],
    [
      'the options of express-rate-limit',
      () => create({ windowMs: 60_000, max: 10 }),
      `${POLICY} (use gcra({ limit: 10, per: 60000 }) or '10/60000ms'); got an object [ERR_POLICY]`,
    ],
    [
      'the options of another library',
      () => create({ points: 10, duration: 1 }),
      `${POLICY} (points is 10); got an object [ERR_POLICY]`,
    ],
    [
      'a promise',
      () => create(Promise.resolve('10/s')),
      `${POLICY} (await it first); got a promise [ERR_POLICY]`,
    ],
    [
      'an async policy function',
      () => (create(async () => '10/s') as typeof limiter).take('alice'),
      `${POLICY} (${FUNCTION}); got a promise [ERR_POLICY]`,
    ],
    [
      'a policy function that returns nothing',
      () => (create(() => {}) as typeof limiter).take('alice'),
      `${POLICY} (${FUNCTION}); got undefined [ERR_POLICY]`,
    ],
    ['a limiter', () => create(limiter), `${POLICY} (this is already a limiter); got an object [ERR_POLICY]`],
    [
      'a store',
      () => create(memory()),
      `${POLICY} (a store belongs in the options: createLimiter('100/min', { store })); got an object [ERR_POLICY]`,
    ],
    [
      'an empty list',
      () => create([]),
      'policies must include a policy that denies by itself, not only penalty(); got an object [ERR_POLICY]',
    ],
    [
      'a penalty alone',
      () => create(penalty({ after: 5, within: '1m', block: '10m' })),
      'policies must include a policy that denies by itself, not only penalty(); got an object [ERR_POLICY]',
    ],
  ]);
});

describe('the store', () => {
  const withStore = (store: unknown) => () => create('10/s', { store, name: 'api' });
  claims([
    [
      'a factory that was not called',
      withStore(memory),
      `createLimiter.store ${STORE} (call it: memory()); got a function [ERR_OPTIONS]`,
    ],
    [
      'an ioredis client',
      withStore(ioredis),
      `createLimiter.store ${STORE} (${WRAP_REDIS}); got an object [ERR_OPTIONS]`,
    ],
    [
      'a node-redis client',
      withStore(nodeRedis),
      `createLimiter.store ${STORE} (${WRAP_REDIS}); got an object [ERR_OPTIONS]`,
    ],
    [
      'a pg pool',
      withStore(pool),
      `createLimiter.store ${STORE} (wrap the client: postgres(pool) from 'sluice/postgres'); got an object [ERR_OPTIONS]`,
    ],
    [
      'a URL',
      withStore('redis://localhost'),
      `createLimiter.store ${STORE} (connect a client, and wrap it: redis(client) from 'sluice/redis'); ` +
        'got "redis://localhost" [ERR_OPTIONS]',
    ],
    ['a store that is null', withStore(null), `createLimiter.store ${STORE}; got null [ERR_OPTIONS]`],
    [
      'a store in place of the options',
      () => create('10/s', memory()),
      'createLimiter must be an object with options (pass the store as an option: { store }); got an object [ERR_OPTIONS]',
    ],
    [
      'a name in place of the options',
      () => create('10/s', 'api'),
      `createLimiter must be an object with options (such as { name: 'api' }); got "api" [ERR_OPTIONS]`,
    ],
    [
      'a Redis client in place of the store of leased()',
      () => (sluice.leased as Untyped)(ioredis, { nodes: 2 }),
      `leased.store ${STORE} (${WRAP_REDIS}); got an object [ERR_OPTIONS]`,
    ],
    [
      'synced() without a store',
      () => (sluice.synced as Untyped)(undefined, { every: '1s' }),
      `synced.store ${STORE}; got undefined [ERR_OPTIONS]`,
    ],
    [
      'a factory in place of the store of metered()',
      () => (sluice.metered as Untyped)(memory, { decided() {} }),
      `metered.store ${STORE} (call it: memory()); got a function [ERR_OPTIONS]`,
    ],
    [
      'a URL in place of the client of redis()',
      () => (redis as Untyped)('redis://localhost'),
      'redis.client is an address; pass a client that is connected to it, such as new Redis(url) from ioredis; ' +
        'got "redis://localhost" [ERR_OPTIONS]',
    ],
    [
      'connection options in place of the client of postgres()',
      () => postgres({ connectionString: 'postgres://localhost' }),
      'postgres.client must be a Pool from pg, or sql from postgres.js; got an object [ERR_OPTIONS]',
    ],
    [
      'ipc() with a socket in a folder that does not exist',
      () => ipc({ path: '/no-such-folder/limits.sock' }),
      'ipc.path must be in a folder that exists (create the folder first); got "/no-such-folder/limits.sock" [ERR_OPTIONS]',
    ],
  ]);
});

describe('a verb', () => {
  const KEY = 'key must be a string';
  claims([
    [
      'take without a key',
      () => verbs['take'](),
      `${KEY} (such as a user id or an address); got undefined [ERR_KEY]`,
    ],
    ['take with a number', () => verbs['take'](123), `${KEY} (use String()); got 123 [ERR_KEY]`],
    ['take with an object', () => verbs['take']({ ip: '::1' }), `${KEY}; got an object [ERR_KEY]`],
    ['take with a promise', () => verbs['take'](Promise.resolve('alice')), `${KEY}; got a promise [ERR_KEY]`],
    ['take with null', () => verbs['take'](null), `${KEY}; got null [ERR_KEY]`],
    [
      'acquire without a key',
      () => verbs['acquire'](),
      `${KEY} (such as a user id or an address); got undefined [ERR_KEY]`,
    ],
    [
      'a cost that is text',
      () => verbs['take']('alice', '2'),
      'cost must be a finite number, 0 or more; got "2" [ERR_COST]',
    ],
    [
      'a cost that is null',
      () => verbs['peek']('alice', null),
      'options must be an object with options; got null [ERR_OPTIONS]',
    ],
    [
      'a cost option that is text',
      () => verbs['take']('alice', { cost: '2' }),
      'cost must be a finite number, 0 or more; got "2" [ERR_COST]',
    ],
    [
      'a misspelled option',
      () => verbs['take']('alice', { costs: 2 }),
      'options.costs is not an option here (known: cost, tier, keep, class, mode, maxDelay); got 2 [ERR_UNKNOWN_OPTION]',
    ],
    [
      'run without a function',
      () => verbs['run']('alice'),
      "call must be a function (run('alice', () => work())); got undefined [ERR_OPTIONS]",
    ],
    [
      'run with the result of a call instead of a function',
      () => verbs['run']('alice', Promise.resolve()),
      "call must be a function (run('alice', () => work())); got a promise [ERR_OPTIONS]",
    ],
    ['run without a key', () => verbs['run'](() => {}), `${KEY}; got a function [ERR_KEY]`],
    [
      'takeMany with keys instead of objects',
      () => verbs['takeMany'](['alice']),
      `takeMany needs an object for each key ({ key: 'alice' }); got "alice" [ERR_OPTIONS]`,
    ],
  ]);

  test('run without a function charges nothing', async () => {
    const own = createLimiter('5/min');
    await expect(own.run('alice', undefined as never)).rejects.toThrow('call must be a function');
    expect(own.peek('alice').remaining).toBe(5);
  });
});

describe('a middleware', () => {
  claims([
    [
      'text in place of options',
      () => rateLimit('100/min'),
      `${RATE_LIMIT} (rateLimit(createLimiter('100/min'))); got "100/min" [ERR_OPTIONS]`,
    ],
    [
      'text in place of options, in Koa',
      () => (koa as Untyped)('5/s'),
      `${RATE_LIMIT} (rateLimit(createLimiter('5/s'))); got "5/s" [ERR_OPTIONS]`,
    ],
    [
      'a number in place of options, in Hono',
      () => (hono as Untyped)(100),
      `${RATE_LIMIT} (rateLimit(createLimiter('100/min'))); got 100 [ERR_OPTIONS]`,
    ],
    [
      'a call without arguments',
      () => rateLimit(),
      `${RATE_LIMIT} (rateLimit(createLimiter('100/min'))); got undefined [ERR_OPTIONS]`,
    ],
    [
      'a policy',
      () => rateLimit(policy),
      `${RATE_LIMIT} (rateLimit(createLimiter(policy))); got an object [ERR_OPTIONS]`,
    ],
    [
      'the options of another middleware',
      () => rateLimit({ windowMs: 60_000, limit: 100 }),
      `rateLimit.limit is not an option here (${IN_LIMITER}); got 100 [ERR_UNKNOWN_OPTION]`,
    ],
    [
      'a store',
      () => rateLimit({ limiter, store: memory() }),
      "rateLimit.store is not an option here (it belongs to the limiter: createLimiter('100/min', { store, name: 'api' })); " +
        'got an object [ERR_UNKNOWN_OPTION]',
    ],
    [
      'text as the limiter',
      () => rateLimit({ limiter: '100/min' }),
      `rateLimit.limiter must be a limiter (createLimiter('100/min')); got "100/min" [ERR_OPTIONS]`,
    ],
    [
      'text as the key',
      () => rateLimit({ limiter, key: 'ip' }),
      'rateLimit.key must be a function; got "ip" [ERR_OPTIONS]',
    ],
    [
      'trustProxy: true',
      () => rateLimit({ limiter, trustProxy: true }),
      "rateLimit.trustProxy must be false, a number of proxies, CIDRs, 'loopback', 'private', 'cloudflare', 'fly', " +
        "'vercel', 'nginx' or { header }; got true [ERR_TRUST_PROXY]",
    ],
    [
      'an unknown address range',
      () => rateLimit({ limiter, trustProxy: { header: 'x-real-ip', from: ['10.0.0'] } }),
      "rateLimit.trustProxy must be false, a number of proxies, CIDRs, 'loopback', 'private', 'cloudflare', 'fly', " +
        `'vercel', 'nginx' or { header }; got "10.0.0" [ERR_TRUST_PROXY]`,
    ],
    [
      'options of clientAddress in a nested object',
      () => rateLimit({ limiter, clientAddress: { trustProxy: 1 } }),
      'rateLimit.clientAddress is not an option here (trustProxy and ipv6Prefix are options of rateLimit itself); ' +
        'got an object [ERR_UNKNOWN_OPTION]',
    ],
    [
      'limitedFetch with a limiter in place of options',
      () => (limitedFetch as Untyped)(fetch, limiter),
      'limitedFetch must be an object with options (pass the limiter as an option: { limiter }); got an object [ERR_OPTIONS]',
    ],
  ]);
});
