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
import { inFlight, unpunctuality, until } from 'sluice-test-support/redis/watch.ts';

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

/** Script calls that reached the server since the last test. */
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

/** A denial is answered from memory for so long at most, in milliseconds. */
const LONGEST = 2000;

describe('a flood on a denied key', () => {
  test('costs the store one call in two seconds', async () => {
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

  /** Floods, one at a time. Returns what the store decided, in order of the answers. */
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

  test('asks the store once per retryAfter', async () => {
    const decided = await flood();
    expect(await calls()).toBe(decided.length);
    for (const [i, { sent, retryAfter }] of decided.slice(0, -1).entries())
      expect(decided[i + 1].answered - sent).toBeGreaterThanOrEqual(retryAfter);
  });

  /** What reached the store during a flood of 256 at once, and when. Ends not before it saw enough. */
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
        // A peek travels with a take, in the same call.
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

  // Spent beforehand, or not: then the first wave is on its way before anything is known.
  test.each([
    ['one at a time', gcra({ limit: 1, per: '100ms' }), 1],
    ['five at a time', slidingLog({ limit: 5, per: '200ms', resolution: 1 }), 5],
    ['five at a time, and nothing known', slidingLog({ limit: 5, per: '200ms', resolution: 1 }), 0],
  ])('of 256 at once asks for one denial per retryAfter: %s', async (_, policy, before) => {
    const deniedOf = (decided: readonly Dated[]): Dated[] => decided.filter(({ allowed }) => !allowed);
    const steadyOf = (denied: readonly Dated[]): Dated[] => {
      const known = before === 0 ? (denied[0]?.answered ?? Infinity) : 0;
      return denied.filter(({ sent }) => sent > known);
    };
    const decided = await crowd(policy, before, (sofar) => {
      const denied = deniedOf(sofar);
      return steadyOf(denied).length >= 2 && sofar.length - denied.length >= 2 * policy.limit;
    });
    const steady = steadyOf(deniedOf(decided));
    // The cache's own time was taken a moment before.
    for (const [i, { sent, retryAfter }] of steady.slice(0, -1).entries())
      expect(steady[i + 1].sent - sent).toBeGreaterThan(retryAfter - 2);
  });

  test('does not wait in line for a store that fails', async () => {
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
    expect(answers.every(({ status }) => status === 'rejected')).toBe(true);
    // In line they would need 3,200 ms.
    expect(performance.now() - start - late.total()).toBeLessThan(500);
    late.stop();
  });

  test('is told how long it still lasts', async () => {
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
      // Not longer than the server would say, but for the time that the denial was on its way; the half millisecond is
      // between the two clocks.
      expect(cachedDenial.retryAfter).toBeLessThanOrEqual(truth + underway + 0.5);
      expect(cachedDenial.policies[0].retryAfter).toBe(cachedDenial.retryAfter);
      expect(cachedDenial.resetAfter).toBeLessThan(first.resetAfter);
      last = cachedDenial.retryAfter;
    }
  });

  test('ends when it was announced to', async () => {
    const limiter = cached(gcra({ limit: 1, per: '150ms' }));
    await limiter.take('a');
    const start = performance.now();
    const denied = await limiter.take('a');
    await until(async () => (await limiter.take('a')).allowed, 10_000, 1);
    expect(performance.now() - start).toBeGreaterThan(denied.retryAfter - 10);
  });
});

describe('costs', () => {
  test('a greater one is answered too, a smaller one asks', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 7);
    expect(await limiter.take('a', 5)).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.take('a', 5)).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a', 8)).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.take('a', 3)).toMatchObject({ allowed: true, source: 'store' });
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, source: 'deny-cache' });
  });

  test('one that can never pass is still told so', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    await limiter.take('a');
    expect((await limiter.take('a', 11)).retryAfter).toBe(Infinity);
  });

  test('peeks are answered too, and a peek is remembered', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, source: 'store' });
    expect(await limiter.peek('a')).toMatchObject({ allowed: false, source: 'deny-cache' });
    expect(await limiter.take('a')).toMatchObject({ allowed: false, source: 'deny-cache' });
  });
});

describe('what gives something back ends a denial', () => {
  const denied = async (limiter: Limiter<Promise<Decision>>): Promise<void> => {
    await limiter.take('a', 10);
    await limiter.take('a');
    expect((await limiter.take('a')).source).toBe('deny-cache');
  };

  test('reset', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    await limiter.reset('a');
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 9, source: 'store' });
  });

  test('refund', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    await limiter.refund('a');
    expect(await limiter.take('a')).toMatchObject({ allowed: true, source: 'store' });
  });

  test('a cancelled reservation', async () => {
    const limiter = cached(gcra({ limit: 10, per: '1m' }));
    const turn = await limiter.reserve('a', 10);
    expect((await limiter.take('a', 10)).source).toBe('store');
    await turn.cancel();
    expect(await limiter.take('a', 10)).toMatchObject({ allowed: true, source: 'store' });
  });

  test('block, which may be shorter', async () => {
    const limiter = cached(HOURLY);
    await limiter.block('a', '1h');
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block', source: 'store' });
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block', source: 'deny-cache' });
    await limiter.block('a', '20ms');
    await until(async () => (await limiter.take('a')).allowed);
  });

  test('a denial on its way is not remembered after a reset', async () => {
    const limiter = cached(HOURLY);
    await limiter.take('a', 10);
    const [late] = await Promise.all([limiter.take('a'), limiter.reset('a')]);
    expect(late.allowed).toBe(false);
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 9 });
  });

  test('another key, limiter name or policy is another matter', async () => {
    const limiter = cached(HOURLY);
    await denied(limiter);
    expect((await limiter.take('b')).allowed).toBe(true);
    const store = redis(client, { onFailure: 'throw', denyCache: true, deadline: '5s' });
    const tiers = { pro: gcra({ limit: 100, per: '1m' }) };
    const tiered = createLimiter(HOURLY, { store, name: 'denied', tiers });
    await tiered.take('b', 10);
    await tiered.take('b', 10);
    expect((await tiered.take('b', 10)).source).toBe('deny-cache');
    // A minute's worth is less than what the hourly policy took, but it is not this denial.
    expect((await tiered.take('b', { cost: 10, tier: 'pro' })).source).toBe('store');
    expect((await createLimiter(HOURLY, { store, name: 'else' }).take('a')).allowed).toBe(true);
  });
});

describe('what another process gives back is seen within two seconds', () => {
  const elsewhere = (): Limiter<Promise<Decision>> =>
    createLimiter(HOURLY, { store: redis(other, { deadline: '5s' }), name: 'denied' });

  test.each<[string, (limiter: Limiter<Promise<Decision>>) => Promise<unknown>]>([
    ['reset', (limiter) => limiter.reset('a')],
    ['refund', (limiter) => limiter.refund('a', 5)],
    ['a shorter block', (limiter) => limiter.block('a', 1)],
  ])('%s', async (name, giveBack) => {
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

describe('is not asked', () => {
  test("in modes 'always' and 'partial', where each attempt counts or another amount may fit", async () => {
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

  test('where a penalty has to see every denial', async () => {
    const limiter = cached({
      base: gcra({ limit: 1, per: '1h' }),
      strikes: penalty({ after: 3, within: '1h', block: '2h' }),
    });
    await limiter.take('a');
    for (let i = 0; i < 3; i++) expect((await limiter.take('a')).source).toBe('store');
    expect(await limiter.take('a')).toMatchObject({ policy: 'strikes', source: 'store' });
  });
});

test('remembers as many denials as it may, and forgets the oldest', async () => {
  const limiter = cached(HOURLY, { maxKeys: 10 });
  for (let i = 0; i < 20; i++) {
    await limiter.take(`k${i}`, 10);
    await limiter.take(`k${i}`);
  }
  for (let i = 10; i < 20; i++) expect((await limiter.take(`k${i}`)).source).toBe('deny-cache');
  for (let i = 0; i < 10; i++) expect((await limiter.take(`k${i}`)).source).toBe('store');
});

test('an answer of the failure policy is not a denial to remember', async () => {
  let well = false;
  const send = ([name, ...args]: readonly string[]): Promise<unknown> =>
    well ? client.call(name, ...args) : Promise.reject(new Error('ECONNREFUSED'));
  const store = redis({ send }, { denyCache: true, onFailure: 'deny', deadline: '5s' });
  const limiter = createLimiter(HOURLY, { store, name: 'denied' });
  expect(await limiter.take('a')).toMatchObject({ allowed: false, source: 'fallback' });
  well = true;
  expect(await limiter.take('a')).toMatchObject({ allowed: true, source: 'store' });
});
