import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  type Limiter,
  minInterval,
  pacer,
  penalty,
  type Policies,
  type Policy,
  slidingLog,
  slidingWindow,
} from '../../../src/index.ts';
import { redis } from '../../../src/stores/redis/index.ts';
import { another } from '../../support/stores.ts';
import { CLIENTS, type Connected } from 'sluice-test-support/redis/clients.ts';
import { redisServer, type Server } from 'sluice-test-support/redis/server.ts';
import { outcome } from 'sluice-test-support/redis/watch.ts';

let server: Server;

describe.each(Object.entries(CLIENTS))('the Redis store, through %s,', (name, connect) => {
  let connected: Connected;
  beforeAll(async () => {
    // A separate server that has not cached any script yet.
    server = await redisServer();
    connected = await connect(server.port);
  });
  afterAll(async () => {
    await connected.close();
    await server.stop();
  });

  let limiters = 0;
  const limiterFor = (policies: Policies): Limiter<Promise<Decision>> =>
    createLimiter(policies, {
      store: redis(connected.client, { onFailure: 'throw', deadline: '5s' }),
      name: `${name} ${limiters++}`,
    });

  test('admits up to the limit, then reports when to retry', async () => {
    const limiter = limiterFor(gcra({ limit: 3, per: '1h' }));
    for (const remaining of [2, 1, 0]) {
      expect(await limiter.take('a')).toMatchObject({
        allowed: true,
        taken: 1,
        limit: 3,
        remaining,
        retryAfter: 0,
        source: 'store',
      });
    }
    const denied = await limiter.take('a');
    expect(denied).toMatchObject({ allowed: false, taken: 0, remaining: 0, source: 'store' });
    expect(denied.retryAfter).toBeGreaterThan(1_190_000);
    expect(denied.retryAfter).toBeLessThanOrEqual(1_200_000);
    expect(await limiter.take('a', 4)).toMatchObject({ allowed: false, retryAfter: Infinity });
    expect(await limiter.take('b')).toMatchObject({ allowed: true, remaining: 2 });
  });

  test('supports peek, partial and always modes, refund and reset', async () => {
    const limiter = limiterFor(fixedWindow({ limit: 10, per: '1h', align: 'first' }));
    expect(await limiter.peek('a')).toMatchObject({ allowed: true, taken: 0, remaining: 10 });
    expect(await limiter.take('a', { cost: 12, mode: 'partial' })).toMatchObject({
      allowed: true,
      taken: 10,
    });
    expect(await limiter.take('a', { cost: 2, mode: 'always' })).toMatchObject({ allowed: false, taken: 2 });
    expect(await limiter.refund('a', 5)).toMatchObject({ allowed: true, remaining: 3 });
    expect(await limiter.refund('a', 100)).toMatchObject({ remaining: 10 });
    await limiter.take('a', 7);
    expect(await limiter.reset('a')).toMatchObject({ remaining: 10 });
  });

  test('reserves a turn and cancels it', async () => {
    const limiter = limiterFor(gcra({ limit: 1, per: '1h' }));
    expect((await limiter.reserve('a')).delay).toBe(0);
    const second = await limiter.reserve('a');
    expect(second.decision.allowed).toBe(true);
    expect(second.delay).toBeGreaterThan(3_590_000);
    expect((await limiter.reserve('a', { maxDelay: '1m' })).delay).toBe(Infinity);
    await second.cancel();
    const third = await limiter.reserve('a');
    expect(third.delay).toBeLessThanOrEqual(second.delay);
  });

  test('blocks a key manually until it is reset', async () => {
    const limiter = limiterFor(gcra({ limit: 5, per: '1h' }));
    await limiter.take('a');
    expect(await limiter.block('a', '10m')).toMatchObject({ allowed: false, policy: 'block' });
    const denied = await limiter.take('a');
    expect(denied).toMatchObject({ allowed: false, policy: 'block' });
    expect(denied.retryAfter).toBeGreaterThan(590_000);
    await limiter.reset('a');
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 4 });
  });

  test('combines a sliding log with a counter, and frees the places of calls that are done', async () => {
    const limiter = limiterFor({
      log: slidingLog({ limit: 20, per: '1h' }),
      count: fixedWindow({ limit: 30, per: '1h', align: 'first' }),
    });
    for (let i = 0; i < 20; i++) expect((await limiter.take('a')).allowed).toBe(true);
    expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'log' });
    await limiter.refund('a', 15);
    expect(await limiter.take('a', 15)).toMatchObject({ allowed: true, remaining: 0 });

    const gate = limiterFor(concurrency({ limit: 2, lease: '1m' }));
    const results = await Promise.all([1, 2].map((value) => gate.run('a', () => value)));
    expect(results).toEqual([1, 2]);
    // The release is not awaited, and with a connection pool the next call may overtake it.
    await expect.poll(() => gate.peek('a')).toMatchObject({ remaining: 2 });
  });

  test('counts in calendar windows', async () => {
    const limiter = limiterFor(fixedWindow({ limit: 2, align: 'month', timeZone: 'Europe/Berlin' }));
    expect(await limiter.take('a', 2)).toMatchObject({ allowed: true, remaining: 0 });
    const denied = await limiter.take('a');
    expect(denied.allowed).toBe(false);
    expect(denied.retryAfter).toBeGreaterThan(0);
    expect(denied.retryAfter).toBeLessThanOrEqual(31 * 86_400_000 + 3_600_000);
  });

  test('keeps keys with unusual characters distinct', async () => {
    const limiter = limiterFor(gcra({ limit: 2, per: '1h' }));
    const short = ['', '__proto__', 'constructor', '{a}{b}', '{a}', '}', '{', '{}', 'a', ' a', 'a ', '%7b'];
    const odd = ['a\nb', 'a\r\nb', '\0', '\0\0', '\0a', '😀', '\ud83d', '\ude00', '\ude00\ud83d', '\ufffd'];
    const long = [256, 257, 258, 1_000_000, 1_000_001].map((length) => 'x'.repeat(length));
    const alike = ['é', 'e\u0301', `${'x'.repeat(999_999)}y`, `${'x'.repeat(1000)}\ud83d`];
    const keys = [...short, ...odd, ...long, ...alike];
    const first = await Promise.all(keys.map((key) => limiter.take(key)));
    expect(first.map(({ remaining }) => remaining)).toEqual(keys.map(() => 1));
    const second = await Promise.all(keys.map((key) => limiter.take(key, 2)));
    expect(second.map(({ allowed }) => allowed)).toEqual(keys.map(() => false));
  });

  test('answers each of 500 concurrent checks with its own decision', async () => {
    const limiter = limiterFor(gcra({ limit: 300, per: '1h' }));
    const decisions = await Promise.all(Array.from({ length: 500 }, () => limiter.take('a')));
    const remaining = decisions.filter(({ allowed }) => allowed).map((decision) => decision.remaining);
    expect(remaining.sort((a, b) => b - a)).toEqual(Array.from({ length: 300 }, (_, i) => 299 - i));

    // Each key occurs twice. The order is not deterministic because a pool has several connections.
    const spread = await Promise.all(Array.from({ length: 500 }, (_, i) => limiter.take(`k${i % 250}`, 150)));
    for (let i = 0; i < 250; i++)
      expect([spread[i].remaining, spread[i + 250].remaining].sort((a, b) => b - a)).toEqual([150, 0]);
  });

  test('lets fully replenished keys expire', async () => {
    const limiter = limiterFor(gcra({ limit: 2, per: '100ms' }));
    let last: Decision;
    do last = await limiter.take('a', 2);
    while (last.allowed);
    // A timer may fire up to a millisecond early.
    await sleep(last.retryAfter + 2);
    expect((await limiter.take('a', 2)).allowed).toBe(true);
  });
});

describe('keys', () => {
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.stop());

  test('stay distinct even if one is chosen to look like the digest of another', async () => {
    const connected = await CLIENTS['ioredis'](server.port);
    try {
      const limiter = createLimiter(gcra({ limit: 1, per: '1h' }), {
        store: redis(connected.client, { onFailure: 'throw', deadline: '5s' }),
        name: 'api',
      });
      for (let i = 0; i < 50; i++) {
        const long = `${'x'.repeat(1000)}${i}`;
        const digest = createHash('sha256').update(Buffer.from(long, 'utf16le')).digest();
        const short = digest.toString('utf16le');
        expect((await limiter.take(long)).allowed).toBe(true);
        expect((await limiter.take(short)).allowed, `the key ${JSON.stringify(short)}`).toBe(true);
      }
    } finally {
      connected.close();
    }
  });

  test('have separate rows for tiers with different algorithms', async () => {
    const connected = await CLIENTS['ioredis'](server.port);
    try {
      const limiter = createLimiter(gcra({ limit: 3, per: '1h' }), {
        store: redis(connected.client, { onFailure: 'throw', deadline: '5s' }),
        name: 'tiered',
        tiers: { pro: fixedWindow({ limit: 3, per: '1h', align: 'first' }) },
      });
      const passed = { base: 0, pro: 0 };
      for (let i = 0; i < 10; i++) {
        if ((await limiter.take('a')).allowed) passed.base++;
        if ((await limiter.take('a', { tier: 'pro' })).allowed) passed.pro++;
      }
      expect(passed).toEqual({ base: 3, pro: 3 });
      await limiter.reset('a');
      expect(await limiter.peek('a')).toMatchObject({ remaining: 3 });
      expect(await limiter.peek('a', { cost: 1, tier: 'pro' })).toMatchObject({ remaining: 3 });
      await limiter.block('a', '1h');
      expect(await limiter.take('a', { tier: 'pro' })).toMatchObject({ allowed: false, policy: 'block' });
      expect(await limiter.take('a')).toMatchObject({ allowed: false, policy: 'block' });
    } finally {
      connected.close();
    }
  });

  test('are counted separately for each set of algorithms', async () => {
    const kinds = {
      gcra: gcra({ limit: 9, per: '1h' }),
      leaky: leakyBucket({ size: 9, dripRate: '1h' }),
      fixed: fixedWindow({ limit: 9, per: '1h', align: 'first' }),
      month: fixedWindow({ limit: 9, align: 'month' }),
      sliding: slidingWindow({ limit: 9, per: '1h' }),
      log: slidingLog({ limit: 9, per: '1h' }),
      held: concurrency({ limit: 9, lease: '1h' }),
      paced: pacer({ limit: 9, per: '1h' }),
      apart: minInterval({ every: '1h' }),
    };
    const strikes = penalty({ after: 3, within: '1h', block: '1h' });
    const sets: Policies[] = Object.values(kinds).flatMap((kind) => [
      kind,
      [kind, strikes],
      ...Object.values(kinds).map((other) => [kind, other]),
    ]);
    const connected = await CLIENTS['ioredis'](server.port);
    try {
      const store = redis(connected.client, { onFailure: 'throw', deadline: '20s', maxInFlight: Infinity });
      const limiters = sets.map((policies) =>
        createLimiter(policies, { store: another(store), name: 'any' }),
      );
      const fresh = await Promise.all(limiters.map((limiter, i) => limiter.take(`fresh ${i}`)));
      const pairs = limiters.flatMap((_, before) =>
        limiters.map((__, after) => ({ before, after, key: `${before} ${after}` })),
      );
      await Promise.all(pairs.map(({ before, key }) => limiters[before].take(key)));
      const wrong: string[] = [];
      // The pairs are checked one at a time, so that a failure points at the right pair.
      for (const { before, after, key } of pairs) {
        const { value, error } = await outcome(() => limiters[after].take(key));
        const isFresh = value?.allowed && value.remaining === fresh[after].remaining;
        // The order of policies does not matter.
        const isSame = sortedKinds(sets[before]) === sortedKinds(sets[after]);
        if (!isSame && !isFresh)
          wrong.push(
            `${nameOf(sets[before])} then ${nameOf(sets[after])}: ${error?.message ?? value?.remaining}`,
          );
      }
      expect(wrong).toEqual([]);
    } finally {
      connected.close();
    }
  }, 30_000);
});

function sortedKinds(policies: Policies): string {
  return nameOf(policies).split(' & ').sort().join(' & ');
}

function nameOf(policies: Policies): string {
  return [policies as Policy | Policy[]]
    .flat()
    .map(({ algorithm }) => algorithm.name)
    .join(' & ');
}
