/** Faults of counting. docs/sixteen-bugs.md tells of each. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createLimiter, memory, slidingLog } from '../../src/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { punctually } from '../redis/watch.ts';
import { random, someGap, someVerb } from '../differential.ts';
import { CASES } from '../policies.ts';
import { redisServer } from '../redis/server.ts';
import {
  admitted,
  fastifyStores,
  type Flexible,
  incr,
  peer,
  type RateLimitRedis,
  type Rolling,
} from './peers.ts';
import { EVERY_STORE, kinds, open, passed, START } from './stores.ts';

const client = new Redis(inject('redisPort'), '127.0.0.1');
const own = `sixteen counting ${process.pid}`;
afterAll(() => client.disconnect());

describe('3. refused costly calls that burn what is left', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(10, 60_000)))('%s', async (_name, policy) => {
      const { limiter } = open(make, policy);
      await limiter.take('k', 7);
      for (let i = 0; i < 5; i++) {
        const refused = await limiter.take('k', 8);
        expect(refused).toMatchObject({ allowed: false, taken: 0, remaining: 3 });
      }
      expect((await limiter.take('k', 3)).allowed).toBe(true);
    });
  });

  peer<Flexible>('rate-limiter-flexible', 'a refused call for 8 leaves nothing of 3', async (flexible) => {
    const limiter = new flexible.RateLimiterMemory({ points: 10, duration: 60 });
    await limiter.consume('k', 7);
    await expect(limiter.consume('k', 8)).rejects.toMatchObject({ remainingPoints: 0 });
    expect(await admitted(limiter, 'k', 3)).toBe(0);
  });
});

describe('4. joined limits that burn each other', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test('what one refuses is not charged to the other', async () => {
      const { limiter } = open(make, { few: '2/min fixed-window', many: '10/day fixed-window' });
      expect(await passed(limiter, 'k', 50)).toBe(2);
      expect((await limiter.peek('k')).policies[1]?.remaining).toBe(8);
    });

    test('nor with a key each', async () => {
      const clock = manualClock(START);
      const store = make(clock);
      const perUser = createLimiter('2/min fixed-window', { store, name: 'user' });
      const perAddress = createLimiter('10/day fixed-window', { store, name: 'address' });
      let allowed = 0;
      for (let i = 0; i < 20; i++) {
        const items = [
          { limiter: perAddress, key: 'address' },
          { limiter: perUser, key: 'user' },
        ];
        if ((await perUser.takeMany(items)).allowed) allowed++;
      }
      expect(allowed).toBe(2);
      expect((await perAddress.peek('address')).remaining).toBe(8);
    });
  });

  peer<Flexible>(
    'rate-limiter-flexible',
    'refused by one of a union, charged by the other',
    async (flexible) => {
      const few = new flexible.RateLimiterMemory({ points: 2, duration: 60, keyPrefix: 'few' });
      const many = new flexible.RateLimiterMemory({ points: 10, duration: 86_400, keyPrefix: 'many' });
      expect(await admitted(new flexible.RateLimiterUnion(few, many), 'k', 50)).toBe(2);
      expect((await many.get('k'))?.remainingPoints).toBe(0);
    },
  );
});

describe('5. rewards that mint', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(10, 60_000)))('%s', async (_name, policy) => {
      const { limiter, clock } = open(make, policy);
      for (const used of [0, 4]) {
        if (used > 0) await limiter.take('k', used);
        expect((await limiter.refund('k', 1000)).remaining).toBe(10);
        expect((await limiter.take('k', 11)).allowed).toBe(false);
      }
      // Nor later, when what was given back would have come back by itself.
      await limiter.take('k', 10);
      clock.advance(180_000);
      await limiter.refund('k', 10);
      expect(await passed(limiter, 'k', 30)).toBe(10);
    });

    test('a cost below 0 is a mistake, not a reward', async () => {
      const { limiter } = open(make, '10/min');
      for (const cost of [-1, Number.NaN, -Infinity]) {
        expect(() => limiter.take('k', cost)).toThrow(RangeError);
        expect(() => limiter.refund('k', cost)).toThrow(RangeError);
      }
    });
  });

  peer<Flexible>('rate-limiter-flexible', 'a reward of 90 makes 100 of 10', async (flexible) => {
    const limiter = new flexible.RateLimiterMemory({ points: 10, duration: 60 });
    await limiter.reward('k', 90);
    expect(await admitted(limiter, 'k', 200)).toBe(100);
  });
});

describe('11. checks that take as long as there were hits', () => {
  test('Redis replies with as many bytes for 5,000 recorded hits as for 5', async () => {
    const limiter = createLimiter(slidingLog({ limit: 10_000, per: '1h' }), {
      store: redis(client, { deadline: '10s' }),
      name: own,
    });
    const few = await bytesOf(() => limiter.take('few'), 20);
    for (let i = 0; i < 50; i++) await Promise.all(Array.from({ length: 100 }, () => limiter.take('many')));
    const many = await bytesOf(() => limiter.take('many'), 20);
    expect(many).toBeLessThan(few + 200);
  });

  test('nor does the server work longer for 30,000', async () => {
    const server = await redisServer();
    const alone = new Redis(server.port, '127.0.0.1');
    try {
      const store = redis(alone, { deadline: '10s' });
      const limiter = createLimiter(slidingLog({ limit: 100_000, per: '1h' }), { store, name: own });
      /** Of a check, by the server's own account, in microseconds. The least of a few: it may have been interrupted. */
      const work = async (key: string) => {
        let least = Infinity;
        for (let round = 0; round < 20; round++) {
          await alone.config('RESETSTAT');
          await limiter.peek(key);
          const stats = await alone.info('commandstats');
          least = Math.min(least, Number(/cmdstat_evalsha:calls=1,usec=(\d+)/.exec(stats)?.[1]));
        }
        return least;
      };
      await limiter.take('few');
      for (let i = 0; i < 300; i++)
        await Promise.all(Array.from({ length: 100 }, () => limiter.take('many')));
      // Thirty thousand entries looked at would take more than a millisecond.
      expect(await work('many')).toBeLessThan(4 * (await work('few')) + 200);
    } finally {
      alone.disconnect();
      await server.stop();
    }
  });

  test('nor does this process for 50,000', () => {
    const limiter = createLimiter(slidingLog({ limit: 100_000, per: '1h' }), { store: memory() });
    const nanos = (key: string) => {
      let best = Infinity;
      for (let round = 0; round < 20; round++) {
        const start = process.hrtime.bigint();
        for (let i = 0; i < 100; i++) limiter.peek(key);
        best = Math.min(best, Number(process.hrtime.bigint() - start) / 100);
      }
      return best;
    };
    limiter.take('few');
    for (let i = 0; i < 50_000; i++) limiter.take('many');
    nanos('few');
    // 50,000 times the hits; a hundredth of that would be told apart from noise.
    expect(nanos('many')).toBeLessThan(20 * nanos('few') + 10_000);
  });

  peer<Rolling>('rolling-rate-limiter', 'every check has Redis send all hits', async (rolling) => {
    const options = { client, namespace: `${own} rolling `, interval: 3_600_000, maxInInterval: 10_000 };
    const limiter = new rolling.IORedisRateLimiter(options);
    const few = await bytesOf(() => limiter.limit('k'), 5);
    const now = Date.now() * 1000;
    const hits = Array.from({ length: 1000 }, (_, i) => [now - i, `hit ${i}`]);
    await client.zadd(`${own} rolling k`, ...hits.flat());
    expect(await bytesOf(() => limiter.limit('k'), 5)).toBeGreaterThan(few + 30 * 1000);
  });

  /** What the server sent for one call. Others may use it: the least of a few counts. */
  async function bytesOf(call: () => Promise<unknown>, rounds: number): Promise<number> {
    let least = Infinity;
    for (let i = 0; i < rounds; i++) {
      const before = await sent();
      await call();
      least = Math.min(least, (await sent()) - before);
    }
    return least;
  }

  async function sent(): Promise<number> {
    return Number(/total_net_output_bytes:(\d+)/.exec(await client.info('stats'))?.[1]);
  }
});

describe('12. resets that leave −1', () => {
  describe.each(EVERY_STORE)('%s', (_, make) => {
    test.each(Object.entries(kinds(3, 60_000)))(
      '%s: what is given back after a reset is nothing',
      async (_name, policy) => {
        const { limiter } = open(make, policy);
        await limiter.take('k', 2);
        await limiter.reset('k');
        await limiter.refund('k', 2);
        await limiter.release('k', 1);
        expect((await limiter.peek('k')).remaining).toBe(3);
        expect(await passed(limiter, 'k', 10)).toBe(3);
      },
    );
  });

  test('on Redis nothing is left of the key', async () => {
    for (const [name, policy] of Object.entries(kinds(3, 60_000))) {
      const limiter = createLimiter(policy, {
        store: redis(client, { deadline: '10s' }),
        name: `${own} reset ${name}`,
      });
      await limiter.take('k', 2);
      await limiter.reset('k');
      await limiter.refund('k', 2);
      expect([name, await client.exists(`${own} reset ${name}:{k}`)]).toEqual([name, 0]);
    }
  });

  peer<RateLimitRedis>(
    'rate-limit-redis',
    'a hit given back after a reset leaves −1, for ever',
    async ({ RedisStore }) => {
      const prefix = `${own} hits `;
      const sendCommand = (...[word = '', ...rest]: string[]) => client.call(word, ...rest);
      const store = new RedisStore({ sendCommand, prefix });
      await store.init({ windowMs: 60_000 });
      await store.increment('k');
      await store.resetKey('k');
      await store.decrement('k');
      expect([await client.get(`${prefix}k`), await client.pttl(`${prefix}k`)]).toEqual(['-1', -1]);
      await client.del(`${prefix}k`);
    },
  );
});

describe('14. stores that disagree', () => {
  test.each(Object.entries(CASES))('all answer the same, to the last bit: %s', async (name, { policies }) => {
    const opened = EVERY_STORE.map(([, make]) => open(make, policies));
    const draw = random(name.length);
    for (let i = 0; i < 60; i++) {
      const gap = someGap(draw);
      for (const { clock } of opened) clock.set(clock.now() + gap);
      const ask = someVerb(draw);
      const [first, ...others] = await Promise.all(opened.map(({ limiter }) => ask(limiter)));
      for (const other of others) expect(other).toEqual(first);
    }
  });

  peer<unknown>(
    '@fastify/rate-limit',
    'with exponentialBackoff, memory has forgotten what Redis still refuses',
    async () => {
      const { local, redis: onRedis } = fastifyStores();
      const WINDOW = 400;
      let tries = 0;
      await punctually(100, async () => {
        const stores = [
          new local(false, true),
          new onRedis(false, true, client, `${own} fastify ${++tries} `),
        ];
        const current = (store: (typeof stores)[number]) =>
          incr(store, 'k', WINDOW, 1).then((hit) => hit.current);
        for (let i = 0; i < 4; i++) await Promise.all(stores.map(current));
        // Redis waits for four windows.
        await sleep(WINDOW + 50);
        expect(await Promise.all(stores.map(current))).toEqual([1, 5]);
      });
    },
  );
});
