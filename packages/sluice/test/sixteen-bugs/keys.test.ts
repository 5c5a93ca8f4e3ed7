/** Tests for bugs with keys, routes and options. docs/sixteen-bugs.md describes each of them. */
import fastify, { type FastifyInstance } from 'fastify';
import { Redis } from 'ioredis';
import { afterAll, afterEach, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  type Limiter,
  memory,
  pacer,
  penalty,
  type Policies,
  SluiceError,
  slidingLog,
} from '../../src/index.ts';
import { rateLimit } from '../../src/middleware/fastify.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { fastifyStores, incr, peer, type Rolling, type Upstash, upstashClient } from './peers.ts';
import { EVERY_STORE, kinds, open, passed, START } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
const own = `sixteen keys ${process.pid}`;
const servers: FastifyInstance[] = [];
afterEach(async () => void (await Promise.all(servers.splice(0).map((server) => server.close()))));
afterAll(() => client.disconnect());

describe('7. keys without expiry', () => {
  const VERBS: Readonly<Record<string, (limiter: Limiter<Promise<Decision>>) => Promise<unknown>>> = {
    take: (limiter) => limiter.take('k', 2),
    'take of a fraction': (limiter) => limiter.take('k', 0.3),
    'take in part': (limiter) => limiter.take('k', { cost: 9, mode: 'partial' }),
    'take always': (limiter) => limiter.take('k', { cost: 9, mode: 'always' }),
    peek: (limiter) => limiter.peek('k'),
    refund: (limiter) => limiter.refund('k', 2),
    release: (limiter) => limiter.release('k'),
    reserve: (limiter) => limiter.reserve('k', 2),
    block: (limiter) => limiter.block('k', '10s'),
    reset: (limiter) => limiter.reset('k'),
  };
  const all: Readonly<Record<string, Policies>> = {
    ...kinds(3, 60_000),
    'a rate with a penalty': { rate: '3/min', lockout: penalty({ after: 1, within: '1m', block: '1m' }) },
  };

  test.each(Object.entries(all))('%s: every key on Redis has an expiry', async (kind, policies) => {
    const store = redis(client, { onFailure: 'throw', deadline: '30s' });
    for (const [first, make] of Object.entries(VERBS)) {
      for (const [second, change] of Object.entries(VERBS)) {
        const name = `${own} ${kind} ${first} ${second}`;
        const limiter = createLimiter(policies, { store, name });
        await Promise.all([make(limiter), change(limiter)]);
        // −2 means that the key does not exist.
        const left = await client.pttl(`${name}:{k}`);
        expect([name, left === -2 || (left > 0 && left <= 3_600_000)]).toEqual([name, true]);
      }
    }
  });

  test.each(Object.entries(kinds(100, 60_000)))(
    '%s: a key that is written often has an expiry and does not expire too early',
    async (kind, policy) => {
      const name = `${own} ${kind} often`;
      const limiter = createLimiter(policy, {
        store: redis(client, { onFailure: 'throw', deadline: '30s' }),
        name,
      });
      for (let i = 0; i < 40; i++) {
        const asked = performance.now();
        const { resetAfter } = await limiter.take('k');
        const left = await client.pttl(`${name}:{k}`);
        // Allow for the time that has passed and for rounding.
        const clear = resetAfter - (performance.now() - asked) - 1;
        expect([i, left >= clear && left <= 3_600_000]).toEqual([i, true]);
      }
    },
  );

  test('a key that is never fully replenished expires after a century', async () => {
    const name = `${own} never clear`;
    const policy = pacer({ limit: 3, per: '1m', maxBurst: 5, fresh: 'empty' });
    const limiter = createLimiter(policy, {
      store: redis(client, { onFailure: 'throw', deadline: '30s' }),
      name,
    });
    expect(await limiter.take('k')).toMatchObject({ allowed: true, resetAfter: Infinity });
    const years = (await client.pttl(`${name}:{k}`)) / (365.25 * 86_400_000);
    expect(years).toBeCloseTo(100, 3);
  });

  test('the memory store evicts fully replenished keys without a timer', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter('1/s', { store });
    for (let i = 0; i < 100_000; i++) {
      clock.advance(1);
      limiter.take(`key ${i}`);
    }
    // A thousand keys are in use at any time.
    expect(store.size).toBeLessThan(5000);
  });

  peer<Upstash>('@upstash/ratelimit', 'keys of cachedFixedWindow do not expire', async ({ Ratelimit }) => {
    const prefix = `${own} upstash`;
    const limiter = new Ratelimit({
      redis: upstashClient(client),
      limiter: Ratelimit.cachedFixedWindow(10, '1 s'),
      ephemeralCache: new Map(),
      prefix,
    });
    await limiter.limit('k');
    const [key = ''] = await client.keys(`${prefix}*`);
    expect(await client.pttl(key)).toBe(-1);
    await client.del(key);
  });
});

describe('8. a `*` that resets everyone', () => {
  const WILD = ['*', 'al*', '?????', '[a-z]*', 'alice*', '', '%', '.*', '{alice}', 'alice}', 'alice\0'];

  test.each(EVERY_STORE)('%s: special characters in a key have no meaning', async (_, make) => {
    const { limiter } = open(make, '1/h');
    for (const key of ['alice', 'bobby', ...WILD]) await limiter.take(key);
    for (const key of WILD) await limiter.reset(key);
    for (const key of ['alice', 'bobby']) expect((await limiter.take(key)).allowed).toBe(false);
    for (const key of WILD) expect(await passed(limiter, key, 3)).toBe(1);
  });

  peer<Upstash>('@upstash/ratelimit', "resetUsedTokens('*') resets all keys", async ({ Ratelimit }) => {
    const options = { redis: upstashClient(client), ephemeralCache: false as const, prefix: `${own} wild` };
    const limiter = new Ratelimit({ ...options, limiter: Ratelimit.fixedWindow(1, '1 d') });
    await limiter.limit('alice');
    expect((await limiter.limit('alice')).success).toBe(false);
    await limiter.resetUsedTokens('*');
    expect((await limiter.limit('alice')).success).toBe(true);
  });
});

describe('9. blocked keys evicted by a flood', () => {
  const HOUR = 3_600_000;
  /** `most` is nine tenths of the capacity. Shared memory has room for slightly more keys than requested. */
  const BOUNDED = [
    { store: 'memory', most: 900, make: (clock: ManualClock) => memory({ clock, maxKeys: 1000 }) },
    {
      store: 'shared memory',
      most: 1050,
      make: (clock: ManualClock) => sharedMemory({ clock, maxKeys: 1000 }),
    },
  ];
  const every = BOUNDED.flatMap((bounded) =>
    Object.entries(kinds(5, HOUR)).map(([kind, policy]) => ({ ...bounded, kind, policy })),
  );

  /** Takes a unit from five times as many new keys as the store has room for, within a second. */
  function flood(limiter: Limiter, clock: ManualClock, keys = 5000): void {
    for (let i = 0; i < keys; i++) {
      if (i % 5 === 0) clock.advance(1);
      limiter.take(`flood ${i}`);
    }
  }

  test.each(every)('$store, $kind: a flood does not free an exhausted key', ({ make, policy }) => {
    const clock = manualClock(START);
    const limiter = createLimiter(policy, { store: make(clock), name: 'api' });
    limiter.take('used up', 5);
    // Late in its window, a fresh key takes longer to be fully replenished than an exhausted one.
    clock.set(limiter.peek('used up').retryAfter * 0.9 + START);
    expect(limiter.peek('used up').allowed).toBe(false);
    flood(limiter, clock);
    expect(limiter.take('used up').allowed).toBe(false);
  });

  test.each(every)(
    '$store, $kind: a flood between two guesses does not reset the count of guesses',
    ({ make, policy }) => {
      const clock = manualClock(START);
      const limiter = createLimiter(policy, { store: make(clock), name: 'api' });
      for (let i = 0; i < 4; i++) limiter.take('guesser');
      flood(limiter, clock);
      expect(limiter.take('guesser').remaining).toBe(0);
    },
  );

  test.each(every)(
    '$store, $kind: a flood frees no exhausted key, even if nine of ten keys are exhausted',
    ({ make, most, policy }) => {
      const clock = manualClock(START);
      const limiter = createLimiter(policy, { store: make(clock), name: 'api' });
      for (let i = 0; i < most; i++) {
        // Insert the other keys in between, in no particular order.
        if ((i * i) % 97 < 10) limiter.take(`other ${i}`);
        limiter.take(`used up ${i}`, 5);
      }
      flood(limiter, clock);
      const freed = Array.from({ length: most }, (_, i) => limiter.peek(`used up ${i}`).allowed);
      expect(freed.filter(Boolean)).toEqual([]);
    },
  );

  const several = BOUNDED.flatMap((bounded) =>
    ['fixed-window', 'sliding-window', 'sliding-log', ''].flatMap((kind) =>
      [
        { first: '1/s', gap: 2001 },
        { first: '1/10min', gap: 1_200_001 },
      ].map((beside) => ({ ...bounded, ...beside, kind })),
    ),
  );

  test.each(several)(
    '$store, $first combined with 5/day $kind: keys that are denied briefly do not evict a key with a daily count',
    ({ make, first, gap, kind }) => {
      const clock = manualClock(START);
      const policies = [`${first} ${kind}`, `5/day ${kind}`];
      // The order of the policies must not matter.
      if (first === '1/s') policies.reverse();
      const limiter = createLimiter(policies, { store: make(clock), name: 'api' });
      for (let guesses = 1; guesses <= 5; guesses++) {
        expect(limiter.take('guesser').allowed).toBe(true);
        clock.advance(gap);
        // A key that has used no more than the flood's keys may be evicted with them.
        if (guesses > 1) flood(limiter, clock, 2000);
      }
      expect(limiter.take('guesser').allowed).toBe(false);
    },
  );

  test.each(BOUNDED)('$store: a flood does not erase strikes', ({ make }) => {
    const clock = manualClock(START);
    const lockout = penalty({ after: 5, within: '10m', block: '1h' });
    const limiter = createLimiter({ rate: '1/s', lockout }, { store: make(clock), name: 'api' });
    for (let i = 0; i < 5; i++) limiter.take('guesser');
    clock.advance(2000);
    flood(limiter, clock);
    limiter.take('guesser');
    expect(limiter.take('guesser').policy).toBe('lockout');
  });

  test.each([
    ['1000/day fixed-window', '1m', 0.5],
    ['1000/day', '1m', 0.5],
    ['100/30d sliding-window', '1m', 0.5],
    ['20/day sliding-log', '1m', 0.5],
    ['1/s', '1d', 0.9],
    ['1/min sliding-log', '1d', 0.9],
    ['1/h fixed-window', '1d', 0.5],
  ])(
    'shared memory: a flood under %s does not free a key that another limiter denies for %s',
    (other, per, gone) => {
      const clock = manualClock(START);
      const store = sharedMemory({ clock, maxKeys: 1000 });
      const login = createLimiter(fixedWindow({ limit: 5, per, align: 'first' }), { store, name: 'login' });
      login.take('guesser', 5);
      clock.advance(login.peek('guesser').retryAfter * gone);
      flood(createLimiter(other, { store, name: 'other' }), clock);
      expect(login.take('guesser').allowed).toBe(false);
    },
  );

  test.each(BOUNDED)(
    '$store: a flood does not free a key that is blocked by a penalty or manually',
    ({ make }) => {
      const clock = manualClock(START);
      const lockout = penalty({ after: 3, within: '1h', block: '2h' });
      const limiter = createLimiter(
        { rate: fixedWindow({ limit: 5, per: '1h' }), lockout },
        { store: make(clock), name: 'api' },
      );
      for (let i = 0; i < 9; i++) limiter.take('guesser');
      limiter.block('manually', '1d');
      clock.advance(HOUR);
      for (let i = 0; i < 3000; i++) limiter.block(`briefly ${i}`, '1m');
      flood(limiter, clock);
      for (const key of ['guesser', 'manually']) expect(limiter.take(key).allowed).toBe(false);
    },
  );

  peer<unknown>(
    '@fastify/rate-limit',
    'in memory, 5,000 other addresses free a blocked address',
    async () => {
      const store = new (fastifyStores().local)(false, false);
      for (let i = 0; i < 10; i++) await incr(store, 'guesser', 3_600_000, 3);
      for (let i = 0; i < 5000; i++) await incr(store, `flood ${i}`, 3_600_000, 3);
      expect((await incr(store, 'guesser', 3_600_000, 3)).current).toBe(1);
    },
  );
});

describe("10. a route's limit that replaces the global one", () => {
  async function statuses(server: FastifyInstance, url: string, calls: number): Promise<number> {
    let ok = 0;
    for (let i = 0; i < calls; i++) if ((await server.inject(url)).statusCode === 200) ok++;
    return ok;
  }

  function serve(): FastifyInstance {
    const server = fastify();
    servers.push(server);
    return server;
  }

  const so = (limit: number) =>
    createLimiter(fixedWindow({ limit, per: '1h' }), { store: memory({ clock: manualClock(0) }) });

  test('both limits are charged, and the stricter one decides', async () => {
    const server = serve();
    await server.register(rateLimit, { limiter: so(5) });
    server.get('/wide', { config: { rateLimit: { limiter: so(100) } } }, async () => 'ok');
    server.get('/', async () => 'ok');
    expect(await statuses(server, '/wide', 20)).toBe(5);
    expect(await statuses(server, '/', 20)).toBe(0);
  });

  peer<Parameters<FastifyInstance['register']>[0]>(
    '@fastify/rate-limit',
    'a route with a limit of 100 lets 50 requests pass although the global limit is 5',
    async (plugin) => {
      const server = serve();
      await server.register(plugin, { max: 5, timeWindow: '1 hour' });
      const config: object = { rateLimit: { max: 100 } };
      server.get('/wide', { config }, async () => 'ok');
      expect(await statuses(server, '/wide', 50)).toBe(50);
    },
  );
});

describe('18. keys that are names of JavaScript properties', () => {
  const WORDS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', '0', 'null'];

  test.each(EVERY_STORE)('%s: a key such as __proto__ is limited like any other key', async (_, make) => {
    const { limiter } = open(make, slidingLog({ limit: 2, per: '1h' }));
    for (const key of WORDS) expect([key, await passed(limiter, key, 5)]).toEqual([key, 2]);
  });

  peer<Rolling>(
    'rolling-rate-limiter',
    'in memory, the key __proto__ throws a TypeError',
    async (rolling) => {
      const limiter = new rolling.InMemoryRateLimiter({ interval: 1000, maxInInterval: 1 });
      await expect(limiter.limit('__proto__')).rejects.toThrow(TypeError);
      await expect(limiter.limit('constructor')).rejects.toThrow(TypeError);
    },
  );
});

describe('19. invalid options that are replaced by defaults', () => {
  const MISTAKES: Readonly<Record<string, () => unknown>> = {
    'a negative limit in a policy string': () => createLimiter('-5/min'),
    'an unknown unit of time in a policy string': () => createLimiter('5/fortnight'),
    'a negative limit': () => createLimiter(fixedWindow({ limit: -5, per: '1m' })),
    'a window that is not a duration': () => createLimiter(fixedWindow({ limit: 5, per: 'soon' })),
    'a window of NaN': () => createLimiter(fixedWindow({ limit: 5, per: Number.NaN })),
    'an unknown option of a policy': () =>
      createLimiter(fixedWindow({ limit: 5, per: '1m', limits: 5 } as never)),
    'an unknown option of a store': () => memory({ maxkeys: 10 } as never),
    'a negative deadline': () => redis(client, { onFailure: 'throw', deadline: -1 }),
  };

  test.each(Object.entries(MISTAKES))('Sluice rejects %s', (_, mistake) =>
    expect(mistake).toThrow(SluiceError),
  );

  peer<Parameters<FastifyInstance['register']>[0]>(
    '@fastify/rate-limit',
    'a limit of −5 becomes 1,000 per minute',
    async (plugin) => {
      const server = fastify();
      servers.push(server);
      await server.register(plugin, { max: -5 });
      server.get('/', async () => 'ok');
      expect((await server.inject('/')).headers['x-ratelimit-limit']).toBe('1000');
    },
  );
});
