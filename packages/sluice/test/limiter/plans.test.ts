/** Tests any number of plans with different numbers under one name: which state they share, and how long a row is kept. */
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import {
  createLimiter,
  type Decision,
  fixedWindow,
  gcra,
  type Limiter,
  type LimiterOptions,
  type MaybePromise,
  memory,
  type Policies,
  type PolicySource,
  type Store,
} from '../../src/index.ts';
import { ipc } from '../../src/stores/ipc/index.ts';
import { redis } from '../../src/stores/redis/index.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { random } from 'sluice-test-support/random.ts';
import { someGap, someVerb } from '../stores/differential.ts';
import { socketPath } from '../stores/ipc/processes.ts';

const START = 1_700_000_000_000;
const client = new Redis(inject('redisPort'), '127.0.0.1');
afterAll(() => client.disconnect());

type AnyStore = Store<MaybePromise<Decision>>;
type AnyLimiter = Limiter<MaybePromise<Decision>>;

let names = 0;
const nameOf = (): string => `plans ${process.pid} ${++names}`;

/** Creates a limiter on a store that answers synchronously or with promises. */
function limiterOn(store: AnyStore, policies: PolicySource, options: LimiterOptions): AnyLimiter {
  return createLimiter(policies, { ...options, store });
}

const STORES: Readonly<Record<string, (clock: ManualClock) => AnyStore>> = {
  memory: (clock) => memory({ clock }),
  'shared memory': (clock) => sharedMemory({ clock, maxKeys: 10_000 }),
  ipc(clock) {
    const store = ipc({ onFailure: 'throw', path: socketPath(), deadline: '30s', store: memory({ clock }) });
    afterAll(() => store.close());
    return store;
  },
};

describe.each(Object.entries(STORES))('%s, compared with Redis', (_, make) => {
  test('40 tiers of 100 to 139 a minute together admit no more than the highest limit', async () => {
    const clock = manualClock(START);
    const tiers = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`t${i}`, `${100 + i}/min`]));
    const options = { name: nameOf(), tiers };
    const [here, there] = [make(clock), redis(client, { onFailure: 'throw', clock, deadline: '30s' })].map(
      (store) => limiterOn(store, '100/min', options),
    ) as [AnyLimiter, AnyLimiter];
    let passed = 0;
    for (let i = 0; i < 400; i++) {
      const tier = `t${i % 40}`;
      const decision = await here.take('k', { tier });
      expect(decision).toEqual(await there.take('k', { tier }));
      if (decision.allowed) passed++;
    }
    expect(passed).toBeGreaterThanOrEqual(100);
    expect(passed).toBeLessThanOrEqual(139);
  });

  test('keeps the used units of 20 customers when each limit is raised by 1,000', async () => {
    const clock = manualClock(START);
    const limits = new Map(Array.from({ length: 20 }, (_, i) => [`customer ${i}`, 1000 + 10 * i]));
    const policies = (key: string): Policies => fixedWindow({ limit: limits.get(key) ?? 0, per: '1h' });
    const name = nameOf();
    const here = limiterOn(make(clock), policies, { name });
    const there = limiterOn(redis(client, { onFailure: 'throw', clock, deadline: '30s' }), policies, {
      name,
    });
    for (const key of limits.keys()) for (const one of [here, there]) await one.take(key, 900);
    for (const [key, limit] of limits) limits.set(key, limit + 1000);
    for (const [key, limit] of limits) {
      const decision = await here.take(key, 100);
      expect(decision).toEqual(await there.take(key, 100));
      expect(decision.remaining).toBe(limit - 1000);
    }
  });
});

/** Families of policies in which all numbers vary, except for the time in which a key is fully replenished. */
const FAMILIES: Readonly<Record<string, (i: number) => Policies>> = {
  gcra: (i) => gcra({ limit: 5 + (i % 97), per: 1000, burst: 3 + (i % 31) }),
  'fixed window': (i) => fixedWindow({ limit: 5 + i, per: '900ms' }),
  'two policies as text': (i) => `${5 + i}/min & ${3 + (i % 7)}/s sliding-window`,
};
const INHERITED = [undefined, 'additive', 'proportional', 'as-is'] as const;

describe.each([40, 1200])('memory and Redis make the same decisions with %i sets of limits', (count) => {
  for (const [family, versionOf] of Object.entries(FAMILIES)) {
    test.each(INHERITED)(`${family} with inherit %s`, { timeout: 120_000 }, async (inherit) => {
      const clock = manualClock(START);
      const draw = random(count + names);
      let version = 0;
      const policies = (): Policies => versionOf(version);
      const name = nameOf();
      const here = limiterOn(memory({ clock }), policies, { name, inherit });
      const there = limiterOn(redis(client, { onFailure: 'throw', clock, deadline: '30s' }), policies, {
        name,
        inherit,
      });
      for (let done = 0; done < 800; ) {
        clock.set(clock.now() + Math.max(0, someGap(draw)));
        version = draw(count);
        const asks = Array.from({ length: 1 + draw(4) }, () => someVerb(draw));
        const expected = asks.map((ask) => ask(there));
        const actual = asks.map((ask) => ask(here));
        expect(await Promise.all(actual)).toEqual(await Promise.all(expected));
        done += asks.length;
      }
    });
  }
});

describe('a row in memory', () => {
  /** Each key has a window of a different length: 1 s, 2 s, and so on. */
  const seconds = (key: string): Policies =>
    fixedWindow({ limit: 2, per: 1000 * (1 + Number.parseInt(key, 10)), align: 'first' });

  test('is kept until it expires for the plan that wrote it, however many other plans there are', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter(seconds, { store });
    for (let i = 0; i < 1000; i++) limiter.take(`${i} key`, 2);
    for (let second = 1; second < 1000; second++) {
      clock.advance(1000);
      // These rows expire after a second, so the table keeps replacing rows.
      for (let i = 0; i < 50; i++) limiter.take(`0 other ${second} ${i}`);
      for (let i = second; i < 1000; i += 37) expect(limiter.peek(`${i} key`).allowed).toBe(false);
    }
    expect(store.size).toBeLessThan(2000);
  });

  test('is kept until it has expired for every plan that wrote it, even if another plan wrote last', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    let per = 1;
    const limiter = createLimiter(() => fixedWindow({ limit: 5, per: per * 1000, align: 'first' }), {
      store,
    });
    for (per = 1; per <= 30; per++) limiter.take(`warm up ${per}`);
    per = 3600;
    limiter.take('k', 4);
    per = 1;
    limiter.take('k');
    clock.advance(60_000);
    for (let i = 0; i < 5000; i++) limiter.take(`other ${i}`);
    per = 3600;
    expect(limiter.peek('k').remaining).toBe(0);
    per = 1;
    // Rows are only dropped when the table needs their space, so a few thousand replenished ones may still be in it.
    for (let round = 0; round < 5; round++) {
      clock.advance(3600_000);
      for (let i = 0; i < 5000; i++) limiter.take(`another ${round} ${i}`);
    }
    expect(store.size).toBeLessThan(12_500);
  });

  test('is still found and kept after 29 other sets of limits were used', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    let limit = 10;
    const limiter = createLimiter(() => `${limit}/h`, { store });
    for (let i = 0; i < 3000; i++) limiter.take(`key ${i}`, 10);
    for (limit = 11; limit < 40; limit++) limiter.take('other');
    limit = 10;
    expect(store.size).toBe(3001);
    for (let i = 0; i < 3000; i++) expect(limiter.take(`key ${i}`).allowed).toBe(false);
    expect(store.size).toBe(3001);
  });

  test('of a denied key is not evicted by a flood of new keys with different limits', () => {
    const clock = manualClock(START);
    const store = memory({ clock, maxKeys: 5000 });
    // The denied keys have limits of 100 to 199 an hour, the flood has 1,000 to 1,999.
    const limiter = createLimiter(
      (key) => {
        const number = Number.parseInt(key, 10);
        return fixedWindow({
          limit: key.includes('victim') ? 100 + (number % 100) : 1000 + (number % 1000),
          per: '1h',
        });
      },
      { store },
    );
    const victims = Array.from({ length: 1000 }, (_, i) => `${i} victim`);
    for (const [i, victim] of victims.entries()) limiter.take(victim, 100 + (i % 100));
    for (let i = 0; i < 50_000; i++) limiter.take(`${i} flood`, 5);
    expect(store.size).toBeLessThanOrEqual(5000);
    expect(victims.filter((victim) => limiter.take(victim).allowed)).toEqual([]);
  });

  test('of a sliding log is found, and its space is freed, with any number of plans', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    let limit = 10;
    const limiter = createLimiter(() => `${limit}/min sliding-log`, { store });
    for (let i = 0; i < 100; i++) limiter.take(`key ${i}`, 9);
    for (let i = 0; i < 2000; i++) {
      limit = 10 + (i % 50);
      expect(limiter.take(`key ${i % 100}`, 0.01).allowed).toBe(true);
    }
    limit = 10;
    for (let i = 0; i < 100; i++) expect(limiter.take(`key ${i}`).allowed).toBe(false);
    clock.advance(60_000);
    for (let i = 0; i < 2000; i++) limiter.take(`next ${i}`);
    expect(store.size).toBeLessThan(2100);
  });
});
