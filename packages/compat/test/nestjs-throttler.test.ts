import 'reflect-metadata';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  ThrottlerModule,
  type ThrottlerOptions,
  type ThrottlerStorage,
  ThrottlerStorageService,
} from '@nestjs/throttler';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { sluiceStore } from '../src/nestjs-throttler.ts';
import { memory } from 'sluice';
import type { Hit } from 'sluice/store';
import { type ManualClock, manualClock } from 'sluice/testing';
import { admitted, counted, drained, freshPrefix, ownRedis, statuses, unreachable } from './apps.ts';

/** Checks that the storage has the type that the module requires. */
const asTheirs = (options?: Parameters<typeof sluiceStore>[0]): ThrottlerStorage => sluiceStore(options);

const places = {
  'in memory': (clock: ManualClock) => asTheirs({ clock }),
  'on Redis': (clock: ManualClock) => asTheirs({ store: ownRedis(clock), prefix: freshPrefix() }),
};

describe.each(Object.entries(places))('sluiceStore() %s:', (_, open) => {
  function opened() {
    const clock = manualClock(1_700_000_000_000);
    const storage = open(clock);
    return {
      clock,
      hit: (ttl: number, limit: number, block: number, key = 'key') =>
        storage.increment(key, ttl, limit, block, 'default'),
    };
  }

  test('counts hits and reports times in whole seconds, rounded up', async () => {
    const { clock, hit } = opened();
    expect(await hit(2500, 2, 2500)).toEqual({
      totalHits: 1,
      timeToExpire: 3,
      isBlocked: false,
      timeToBlockExpire: 0,
    });
    clock.advance(1600);
    expect(await hit(2500, 2, 2500)).toMatchObject({ totalHits: 2, timeToExpire: 1 });
  });

  test('one hit too many blocks the key for blockDuration, and further hits do not prolong the block', async () => {
    const { clock, hit } = opened();
    await hit(1000, 1, 5000);
    expect(await hit(1000, 1, 5000)).toMatchObject({ totalHits: 2, isBlocked: true, timeToBlockExpire: 5 });
    clock.advance(4500);
    expect(await hit(1000, 1, 5000)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    clock.advance(499);
    expect(await hit(1000, 1, 5000)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    clock.advance(1);
    expect(await hit(1000, 1, 5000)).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await hit(1000, 1, 5000), 'blocks do not grow').toMatchObject({
      isBlocked: true,
      timeToBlockExpire: 5,
    });
  });

  test('the count starts from zero after a block that is shorter than the ttl', async () => {
    const { clock, hit } = opened();
    await hit(60_000, 2, 1000);
    await hit(60_000, 2, 1000);
    expect(await hit(60_000, 2, 1000)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    clock.advance(1000);
    expect(await hit(60_000, 2, 1000)).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await hit(60_000, 2, 1000)).toMatchObject({ totalHits: 2, isBlocked: false });
    expect(await hit(60_000, 2, 1000)).toMatchObject({ isBlocked: true });
  });

  test('without a blockDuration, requests pass again as soon as the oldest hit expires', async () => {
    const { clock, hit } = opened();
    await hit(10_000, 2, 0);
    clock.advance(6000);
    await hit(10_000, 2, 0);
    expect(await hit(10_000, 2, 0)).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 4 });
    clock.advance(3999);
    expect(await hit(10_000, 2, 0)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    clock.advance(1);
    expect(await hit(10_000, 2, 0)).toMatchObject({ totalHits: 2, isBlocked: false });
  });

  test('a limit of 0 blocks every request, and a ttl of 0 blocks none', async () => {
    const { hit } = opened();
    expect(await hit(1000, 0, 0)).toMatchObject({ isBlocked: true, timeToBlockExpire: 1 });
    expect(await hit(1000, 0, 3000)).toMatchObject({ isBlocked: true, timeToBlockExpire: 3 });
    for (let i = 0; i < 3; i++) expect(await hit(0, 1, 0)).toMatchObject({ totalHits: 1, isBlocked: false });
    expect(await hit(1000, Infinity, 0)).toMatchObject({ totalHits: 1, isBlocked: false });
  });

  test('keys and throttlers have separate counts', async () => {
    const clock = manualClock();
    const storage = open(clock);
    await storage.increment('a', 1000, 1, 1000, 'short');
    expect(await storage.increment('a', 1000, 1, 1000, 'short')).toMatchObject({ isBlocked: true });
    expect(await storage.increment('b', 1000, 1, 1000, 'short')).toMatchObject({ isBlocked: false });
    expect(await storage.increment('a', 5000, 9, 5000, 'long')).toMatchObject({
      totalHits: 1,
      isBlocked: false,
    });
  });

  test('admits exactly as many concurrent hits as the limit allows', async () => {
    const { hit } = opened();
    const records = await Promise.all(Array.from({ length: 200 }, () => hit(60_000, 50, 60_000)));
    const passed = records.filter(({ isBlocked }) => !isBlocked);
    expect(passed.map(({ totalHits }) => totalHits).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
  });
});

test('a ttl that changes with every request is rounded up by at most an eighth, which bounds the number of limiters', async () => {
  const clock = manualClock();
  const kept = memory({ clock });
  const plans = new Set<string>();
  const apply = (hit: Hit) => {
    plans.add(hit.plan.id);
    return kept.apply(hit);
  };
  const storage = sluiceStore({ store: { ...kept, apply } });
  for (let ttl = 1000; ttl < 6000; ttl++) {
    const { timeToExpire } = await storage.increment(`key ${ttl}`, ttl, 5, 0, 'default');
    expect(timeToExpire).toBeGreaterThanOrEqual(Math.ceil(ttl / 1000));
    expect(timeToExpire).toBeLessThanOrEqual(Math.ceil((ttl * 1.125) / 1000));
  }
  expect(plans.size).toBeLessThan(50);
});

test('a hit needs one store call, even if it blocks the key, but a block shorter than the ttl needs one more', async () => {
  const store = counted(memory());
  const storage = sluiceStore({ store });
  for (const block of [1000, 0, 500]) {
    for (let i = 0; i < 4; i++) await storage.increment(`key ${block}`, 1000, 2, block, 'default');
  }
  expect(store.asked()).toBe(4 + 4 + 4 + 1);
});

test('sluiceStore() applies the onFailure option of its store while Redis is unavailable', async () => {
  const answer = (onFailure: 'throw' | 'allow' | 'deny') =>
    sluiceStore({ store: unreachable(onFailure) }).increment('key', 60_000, 2, 1000, 'default');
  expect(await answer('allow')).toMatchObject({ totalHits: 1, isBlocked: false });
  expect(await answer('deny')).toMatchObject({ totalHits: 3, isBlocked: true, timeToBlockExpire: 1 });
  await expect(answer('throw')).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
});

test('sluiceStore() rejects a misspelled option', () => {
  expect(() => sluiceStore({ perfix: 'a' } as object)).toThrow(
    expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION' }),
  );
});

describe('sluiceStore(), compared with the storage of @nestjs/throttler,', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  const step = fc.record({ wait: fc.integer({ min: 0, max: 1500 }), key: fc.constantFrom('a', 'b') });

  test.each([
    ['a block as long as the ttl', 3000, 3000],
    ['a longer block', 3000, 7000],
    ['a shorter block', 3000, 1000],
    ['no block', 3000, 0],
  ])('gives the same results for the same hits at the same times, with %s', async (_, ttl, block) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.integer({ min: 1, max: 4 }),
        async (steps, limit) => {
          vi.useFakeTimers({ now: 1_700_000_000_000 });
          const theirs = new ThrottlerStorageService();
          const ours = sluiceStore({ clock: { now: () => Date.now() } });
          const wereBlocked = new Set<string>();
          for (const { wait, key } of steps) {
            vi.advanceTimersByTime(wait);
            const expected = await theirs.increment(key, ttl, limit, block, 'default');
            const record = await ours.increment(key, ttl, limit, block, 'default');
            expect(record.isBlocked).toBe(expected.isBlocked);
            if (record.isBlocked) {
              wereBlocked.add(key);
              expect(record.timeToBlockExpire).toBe(expected.timeToBlockExpire);
            } else {
              expect(record.totalHits).toBe(expected.totalHits);
              // After a block, the original measures timeToExpire from a denied hit.
              if (!wereBlocked.has(key)) expect(record.timeToExpire).toBe(expected.timeToExpire);
            }
          }
          theirs.onApplicationShutdown();
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('@nestjs/throttler with sluiceStore(), over a socket:', () => {
  const running: INestApplication[] = [];
  afterEach(async () => {
    for (const app of running.splice(0)) await app.close();
  });

  async function start(throttlers: ThrottlerOptions[], storage: ThrottlerStorage): Promise<string> {
    class AppController {
      hello() {
        return 'hello';
      }
      strict() {
        return 'strict';
      }
      open() {
        return 'open';
      }
    }
    const on = (name: keyof AppController, ...decorators: MethodDecorator[]) => {
      const descriptor = Object.getOwnPropertyDescriptor(AppController.prototype, name) as PropertyDescriptor;
      for (const decorate of decorators) decorate(AppController.prototype, name, descriptor);
    };
    on('hello', Get());
    on('strict', Get('strict'), Throttle({ default: { limit: 1, ttl: 1000, blockDuration: 5000 } }));
    on('open', Get('open'), SkipThrottle());
    Controller()(AppController);
    class AppModule {}
    Module({
      imports: [ThrottlerModule.forRoot({ throttlers, storage })],
      controllers: [AppController],
      providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
    })(AppModule);
    const app = await NestFactory.create(AppModule, { logger: false });
    running.push(app);
    await app.listen(0, '127.0.0.1');
    return `${await app.getUrl()}/`;
  }

  test('allows requests up to the limit, denies the next one, and reports the wait in headers', async () => {
    const clock = manualClock();
    const url = await start([{ ttl: 60_000, limit: 2 }], asTheirs({ clock }));
    const first = await drained(fetch(url));
    expect(first.headers.get('x-ratelimit-limit')).toBe('2');
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1');
    expect(first.headers.get('x-ratelimit-reset')).toBe('60');
    expect(await statuses(url, 2)).toEqual([200, 429]);
    clock.advance(30_000);
    expect((await drained(fetch(url))).headers.get('retry-after')).toBe('30');
    clock.advance(30_000);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('a route can have its own limits, or no limits', async () => {
    const clock = manualClock();
    const url = await start([{ ttl: 60_000, limit: 2 }], asTheirs({ clock }));
    expect(await statuses(`${url}strict`, 2)).toEqual([200, 429]);
    clock.advance(4999);
    expect(await statuses(`${url}strict`, 1)).toEqual([429]);
    clock.advance(1);
    expect(await statuses(`${url}strict`, 1)).toEqual([200]);
    expect(await statuses(`${url}open`, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(await statuses(url, 3)).toEqual([200, 200, 429]);
  });

  test('several throttlers apply together', async () => {
    const clock = manualClock();
    const throttlers = [
      { name: 'short', ttl: 1000, limit: 1 },
      { name: 'long', ttl: 60_000, limit: 2 },
    ];
    const url = await start(throttlers, asTheirs({ clock }));
    expect(await statuses(url, 2)).toEqual([200, 429]);
    clock.advance(1000);
    expect(await statuses(url, 1)).toEqual([200]);
    clock.advance(1000);
    const refused = await drained(fetch(url));
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after-long')).toBe('60');
  });

  test('two instances on one Redis together admit exactly as many concurrent requests as the limit allows', async () => {
    const prefix = freshPrefix();
    const urls = await Promise.all(
      [0, 1].map(() => start([{ ttl: 60_000, limit: 25 }], asTheirs({ store: ownRedis(), prefix }))),
    );
    expect(await admitted(urls, 100)).toBe(25);
  });
});
