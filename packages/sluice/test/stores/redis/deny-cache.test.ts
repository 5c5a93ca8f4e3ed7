import { setImmediate as immediate } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  gcra,
  type Limiter,
  penalty,
  type Policies,
  slidingLog,
} from '../../../src/index.ts';
import { redis, type RedisClient, type RedisOptions } from '../../../src/stores/redis/index.ts';
import { denyCache } from '../../../src/wrappers/deny-cache.ts';
import { ioredis } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { inFlight, punctually, unpunctuality, until } from 'sluice-test-support/redis/watch.ts';

let server: Server;
let client: Redis;
let other: Redis;

beforeAll(async () => {
  server = await redisServer();
  client = ioredis(server.port);
  other = ioredis(server.port);
});
afterAll(async () => {
  client.disconnect();
  other.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await other.flushall();
  await other.config('RESETSTAT');
});

/** Number of script calls that have reached the server since the last test. */
async function calls(): Promise<number> {
  const stats = await other.info('commandstats');
  const counts = [...stats.matchAll(/cmdstat_(?:eval|evalsha):calls=(\d+).*?rejected_calls=(\d+)/g)];
  const failed = /cmdstat_evalsha:.*failed_calls=(\d+)/.exec(stats)?.[1] ?? '0';
  return counts.reduce((sum, [, made]) => sum + Number(made), 0) - Number(failed);
}

function cached(
  policies: Policies,
  denyCache: RedisOptions['denyCache'] = true,
  over: RedisClient = client,
): Limiter<Promise<Decision>> {
  return createLimiter(policies, {
    store: redis(over, { onFailure: 'throw', denyCache, deadline: '5s' }),
    name: 'denied',
  });
}

const HOURLY = gcra({ limit: 10, per: '1h' });

/** Longest time for which a denial is answered from memory, in milliseconds. */
const LONGEST = 2000;

describe('a flood on a denied key', () => {
  test('costs the store one call every two seconds', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    const start = performance.now();
    await limiter.take('a');
    const before = await calls();
    let fromStore = 0;
    await inFlight(64, 100_000, async () => {
      const { allowed, source } = await limiter.take('a');
      expect(allowed).toBe(false);
      if (source !== 'deny-cache') fromStore++;
    });
    expect(fromStore).toBeLessThanOrEqual((performance.now() - start) / LONGEST);
    expect(await calls()).toBe(before + fromStore);
  });

  interface Dated extends Decision {
    readonly sent: number;
    readonly answered: number;
  }

  const FLOOD = 1000;

  /** Sends checks one at a time. Returns the decisions that the store made, in the order of the answers. */
  async function flood(): Promise<Dated[]> {
    const limiter = cached(slidingLog({ limit: 1, per: '200ms' }));
    const start = performance.now();
    const decided: Dated[] = [];
    let passed = 0;
    while (performance.now() - start < FLOOD || passed < 3) {
      const sent = performance.now();
      const decision = await limiter.take('a');
      if (decision.source === 'store') decided.push({ ...decision, sent, answered: performance.now() });
      if (decision.allowed) passed++;
      await immediate();
    }
    expect(passed).toBeLessThanOrEqual((performance.now() - start) / 200 + 1);
    return decided;
  }

  test('calls the store once in each retryAfter period', async () => {
    const decided = await flood();
    expect(await calls()).toBe(decided.length);
    for (const [i, { sent, retryAfter }] of decided.slice(0, -1).entries())
      expect(decided[i + 1].answered - sent).toBeGreaterThanOrEqual(retryAfter);
  });

  /**
   * Keeps 256 checks in flight and returns the decisions that reached the store, with their times. Runs until
   * it has seen enough of them.
   */
  async function crowd(
    policies: Policies,
    before: number,
    isEnough: (decided: readonly Dated[]) => boolean,
  ): Promise<Dated[]> {
    const store = redis(client, { onFailure: 'throw', deadline: '5s' });
    const decided: Dated[] = [];
    const watched: typeof store = {
      ...store,
      async apply(hit) {
        const sent = performance.now();
        const decision = await store.apply(hit);
        // A peek is sent together with a take, in the same call.
        if (hit.verb === 'take') decided.push({ ...decision, sent, answered: performance.now() });
        return decision;
      },
    };
    const limiter = createLimiter(policies, { store: denyCache(watched), name: 'crowd' });
    for (let i = 0; i < before; i++) await limiter.take('a');
    const start = performance.now();
    await Promise.all(
      Array.from({ length: 256 }, async () => {
        while (performance.now() - start < FLOOD || !isEnough(decided)) {
          await limiter.take('a');
          await immediate();
        }
      }),
    );
    return decided;
  }

  // In the last case, the limit is not used up beforehand, so the first checks are in flight before any denial
  // is known.
  test.each([
    ['one at a time', gcra({ limit: 1, per: '100ms' }), 1],
    ['five at a time', slidingLog({ limit: 5, per: '200ms', resolution: 1 }), 5],
    ['five at a time, with no denial known yet', slidingLog({ limit: 5, per: '200ms', resolution: 1 }), 0],
  ])(
    'of 256 concurrent checks makes the store deny once in each retryAfter period, with units that are replenished %s',
    (_, policy, before) =>
      // If this process pauses after the cache has read its clock and before this test reads its own, `sent` is too late.
      punctually(5, async (reportPause) => {
        await other.flushall();
        const deniedOf = (decided: readonly Dated[]): Dated[] => decided.filter(({ allowed }) => !allowed);
        const steadyOf = (denied: readonly Dated[]): Dated[] => {
          const known = before === 0 ? (denied[0]?.answered ?? Infinity) : 0;
          return denied.filter(({ sent }) => sent > known);
        };
        const decided = await crowd(policy, before, (sofar) => {
          const denied = deniedOf(sofar);
          return steadyOf(denied).length >= 2 && sofar.length - denied.length >= 2 * policy.limit;
        });
        // If Redis pauses until all units are replenished, it allows two takes in a row, and the other checks wait no longer.
        const slowest = Math.max(...decided.map(({ sent, answered }) => answered - sent));
        if (slowest > 50) reportPause(slowest);
        const steady = steadyOf(deniedOf(decided));
        for (const [i, { sent, retryAfter }] of steady.slice(0, -1).entries())
          expect(steady[i + 1].sent - sent).toBeGreaterThan(retryAfter - 2);
      }),
  );

  test('does not wait in a queue for a store that fails', async () => {
    let well = true;
    const inner = redis(client, { onFailure: 'throw', deadline: '5s' });
    const apply: typeof inner.apply = async (hit) => {
      if (well) return inner.apply(hit);
      await new Promise((resolve) => setTimeout(resolve, 50));
      throw new Error('gone');
    };
    const store = denyCache({ ...inner, apply });
    const limiter = createLimiter(gcra({ limit: 1, per: '50ms' }), { store, name: 'failing' });
    await limiter.take('a');
    const { retryAfter } = await limiter.take('a');
    well = false;
    await new Promise((resolve) => setTimeout(resolve, retryAfter + 1));
    const start = performance.now();
    const late = unpunctuality();
    const answers = await Promise.allSettled(Array.from({ length: 64 }, () => limiter.take('a')));
    // The first check is sent to the store. The others would reach the store after it, so they are denied from memory.
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(1);
    await expect(limiter.take('a')).rejects.toThrow('gone');
    // If the checks waited for each other, they would need 3,200 ms.
    expect(performance.now() - start - late.total()).toBeLessThan(500);
    late.stop();
  });

  test('gets decisions that contain the remaining duration of the denial', async () => {
    const limiter = cached(HOURLY);
    const plain = createLimiter(HOURLY, {
      store: redis(other, { onFailure: 'throw', deadline: '5s' }),
      name: 'denied',
    });
    await limiter.take('a', 10);
    const asked = performance.now();
    const first = await limiter.take('a');
    const underway = performance.now() - asked;
    expect(first).toMatchObject({ allowed: false, source: 'store' });
    let last = first.retryAfter;
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      const truth = (await plain.peek('a')).retryAfter;
      const cachedDenial = await limiter.take('a');
      expect(cachedDenial).toMatchObject({
        allowed: false,
        taken: 0,
        limit: 10,
        policy: 'default',
        source: 'deny-cache',
      });
      expect(cachedDenial.retryAfter).toBeLessThan(last);
      // The wait is at most what the server would report, plus the time that the denial was in flight. The half
      // millisecond allows for the difference between the two clocks.
      expect(cachedDenial.retryAfter).toBeLessThanOrEqual(truth + underway + 0.5);
      expect(cachedDenial.policies[0].retryAfter).toBe(cachedDenial.retryAfter);
      expect(cachedDenial.resetAfter).toBeLessThan(first.resetAfter);
      last = cachedDenial.retryAfter;
    }
  });

  test('is not admitted again before retryAfter has passed', async () => {
    const limiter = cached(gcra({ limit: 1, per: '150ms' }));
    await limiter.take('a');
    const start = performance.now();
    const denied = await limiter.take('a');
    await until(async () => (await limiter.take('a')).allowed, 10_000, 1);
    expect(performance.now() - start).toBeGreaterThan(denied.retryAfter - 10);
  });
});

describe('costs', () => {
  test('after a denial, a higher cost is denied from memory, but a lower cost is sent to the store', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 7);
    expect(await limiter.take('a', 5)).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.take('a', 5)).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a', 8)).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.take('a', 3)).toMatchObject({ allowed: true, source: 'store' });
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, source: 'deny-cache' });
  });

  test('a cost that can never be admitted is still reported as such', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    await limiter.take('a');
    expect((await limiter.take('a', 11)).retryAfter).toBe(Infinity);
  });

  test('after a denial, a peek is answered from memory, and the denial of a peek is remembered', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a')).toMatchObject({ allowed: false, source: 'deny-cache' });
  });
});

describe('a remembered denial', () => {
  const denied = async (limiter: Limiter<Promise<Decision>>): Promise<void> => {
    await limiter.take('a', 10);
    await limiter.take('a');
    expect((await limiter.take('a')).source).toBe('deny-cache');
  };

  test('is forgotten after a reset', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    await limiter.reset('a');
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 9, source: 'store' });
  });

  test('is forgotten after a refund', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    await limiter.refund('a');
    expect(await limiter.take('a')).toMatchObject({ allowed: true, source: 'store' });
  });

  test('is forgotten after a canceled reservation', async () => {
    const limiter = cached(gcra({ limit: 10, per: '1m' }));
    const turn = await limiter.reserve('a', 10);
    expect((await limiter.take('a', 10)).source).toBe('store');
    await turn.cancel();
    expect(await limiter.take('a', 10)).toMatchObject({ allowed: true, source: 'store' });
  });

  test('is forgotten after a manual block, which may be shorter than the denial', async () => {
    const limiter = cached(HOURLY);
    await limiter.block('a', '1h');
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block', source: 'store' });
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block', source: 'deny-cache' });
    await limiter.block('a', '20ms');
    await until(async () => (await limiter.take('a')).allowed);
  });

  test('is not stored if the key is reset while the denial is in flight', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    const [late] = await Promise.all([limiter.take('a'), limiter.reset('a')]);
    expect(late.allowed).toBe(false);
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('applies only to its own key, limiter name and policy', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    expect((await limiter.take('b')).allowed).toBe(true);
    const store = redis(client, { onFailure: 'throw', denyCache: true, deadline: '5s' });
    const tiers = { pro: gcra({ limit: 100, per: '1m' }) };
    const tiered = createLimiter(HOURLY, { store, name: 'denied', tiers });
    await tiered.take('b', 10);
    await tiered.take('b', 10);
    expect((await tiered.take('b', 10)).source).toBe('deny-cache');
    // The remembered denial was for the same cost, but another policy made it, so it does not apply to this
    // tier.
    expect((await tiered.take('b', { cost: 10, tier: 'pro' })).source).toBe('store');
    expect((await createLimiter(HOURLY, { store, name: 'else' }).take('a')).allowed).toBe(true);
  });
});

describe('units that another process gives back are noticed within two seconds', () => {
  const elsewhere = (): Limiter<Promise<Decision>> =>
    createLimiter(HOURLY, { store: redis(other, { deadline: '5s' }), name: 'denied' });

  test.each<[string, (limiter: Limiter<Promise<Decision>>) => Promise<unknown>]>([
    ['a reset', (limiter) => limiter.reset('a')],
    ['a refund', (limiter) => limiter.refund('a', 5)],
    ['a shorter block', (limiter) => limiter.block('a', 1)],
  ])('after %s', async (name, giveBack) => {
    const limiter = cached(HOURLY);
    await (name.includes('block') ? elsewhere().block('a', '1d') : limiter.take('a', 10));
    await limiter.take('a');
    await giveBack(elsewhere());
    const { allowed, source, retryAfter } = await limiter.take('a');
    expect({ allowed, source }).toEqual({ allowed: false, source: 'deny-cache' });
    expect(retryAfter).toBeGreaterThan(300_000);
    const waited = await until(async () => (await limiter.take('a')).allowed, 10_000, 20);
    expect(waited).toBeLessThan(LONGEST + 500);
  });
});

describe('the deny cache is not used', () => {
  test("in mode 'always', which counts each attempt, and in mode 'partial', in which a smaller amount may still be admitted", async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    await limiter.take('a');
    const before = await calls();
    for (const mode of ['always', 'partial'] as const) {
      for (let i = 0; i < 3; i++) expect((await limiter.take('a', { mode })).source).toBe('store');
    }
    expect(await calls()).toBe(before + 6);
    expect((await limiter.take('a')).source).toBe('deny-cache');
  });

  test('with a penalty, because a penalty must count every denial', async () => {
    const limiter = cached({
      base: gcra({ limit: 1, per: '1h' }),
      strikes: penalty({ after: 3, within: '1h', block: '2h' }),
    });
    await limiter.take('a');
    for (let i = 0; i < 3; i++) expect((await limiter.take('a')).source).toBe('store');
    expect(await limiter.take('a')).toMatchObject({ policy: 'strikes', source: 'store' });
  });
});

test('the deny cache remembers denials up to its capacity, and forgets the oldest first', async () => {
  const limiter = cached(HOURLY, { maxKeys: 10 });
  for (let i = 0; i < 20; i++) {
    await limiter.take(`k${i}`, 10);
    await limiter.take(`k${i}`);
  }
  for (let i = 10; i < 20; i++) expect((await limiter.take(`k${i}`)).source).toBe('deny-cache');
  for (let i = 0; i < 10; i++) expect((await limiter.take(`k${i}`)).source).toBe('store');
});

test('a denial by the fallback is not remembered', async () => {
  let well = false;
  const send = ([name, ...args]: readonly string[]): Promise<unknown> =>
    well ? client.call(name, ...args) : Promise.reject(new Error('ECONNREFUSED'));
  const store = redis({ send }, { denyCache: true, onFailure: 'deny', deadline: '5s' });
  const limiter = createLimiter(HOURLY, { store, name: 'denied' });
  expect(await limiter.take('a')).toMatchObject({ allowed: false, source: 'fallback' });
  well = true;
  expect(await limiter.take('a')).toMatchObject({ allowed: true, source: 'store' });
});
