/** Shared tests of the stores for express-rate-limit and hono-rate-limiter, in memory and on Redis. */
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { HitStore, SluiceStoreOptions } from '../src/express-rate-limit.ts';
import { memory, SluiceError } from 'sluice';
import { manualClock } from 'sluice/testing';
import { counted, freshPrefix, ownRedis } from './apps.ts';

const MINUTE = 60_000;
const START = 1_700_000_000_000;

/** The interface of the store that the middleware itself provides. */
interface TheirStore {
  init(options: never): void;
  increment(key: string): unknown;
  resetKey(key: string): unknown;
  shutdown(): void;
}

const STEP = fc.oneof(
  fc.record({ do: fc.constantFrom('increment', 'resetKey'), key: fc.constantFrom('a', 'b') }),
  fc.record({ ms: fc.integer({ min: 0, max: 70 }) }),
);

export function hitStoreClaims(
  make: (options?: SluiceStoreOptions) => HitStore,
  makeTheirs: () => TheirStore,
): void {
  const places = {
    'in memory': (clock: ReturnType<typeof manualClock>) => make({ clock }),
    'on a given memory store': (clock: ReturnType<typeof manualClock>) =>
      make({ clock, store: memory({ clock }) }),
    'on Redis': (clock: ReturnType<typeof manualClock>) =>
      make({ clock, store: ownRedis(clock), prefix: freshPrefix() }),
  };

  describe.each(Object.entries(places))('sluiceStore() %s:', (_, open) => {
    function opened(windowMs = MINUTE) {
      const clock = manualClock(START);
      const store = open(clock);
      store.init({ windowMs });
      return { clock, store };
    }

    test('each increment adds one hit, and all hits of a window expire together', async () => {
      const { clock, store } = opened();
      const resetTime = new Date(START + MINUTE);
      expect(await store.increment('a')).toEqual({ totalHits: 1, resetTime });
      clock.advance(40_000);
      expect(await store.increment('a')).toEqual({ totalHits: 2, resetTime });
      expect(await store.increment('b')).toEqual({ totalHits: 1, resetTime: new Date(START + 100_000) });
    });

    test('hits are still counted in the last millisecond of a window, and expire when it ends', async () => {
      const { clock, store } = opened();
      await store.increment('a');
      clock.advance(MINUTE - 1);
      expect((await store.increment('a')).totalHits).toBe(2);
      clock.advance(1);
      expect(await store.get('a')).toBeUndefined();
      expect(await store.increment('a')).toEqual({ totalHits: 1, resetTime: new Date(START + 2 * MINUTE) });
    });

    test('get does not count a hit, and returns undefined for an unknown client', async () => {
      const { store } = opened();
      expect(await store.get('a')).toBeUndefined();
      await store.increment('a');
      for (let i = 0; i < 3; i++)
        expect(await store.get('a')).toEqual({ totalHits: 1, resetTime: new Date(START + MINUTE) });
      expect((await store.increment('a')).totalHits).toBe(2);
    });

    test('decrement subtracts one hit, down to 0, and keeps the end of the window', async () => {
      const { clock, store } = opened();
      await store.increment('a');
      await store.increment('a');
      clock.advance(1000);
      await store.decrement('a');
      expect(await store.increment('a')).toEqual({ totalHits: 2, resetTime: new Date(START + MINUTE) });
      for (let i = 0; i < 5; i++) await store.decrement('a');
      expect((await store.increment('a')).totalHits).toBe(1);
      await store.decrement('nobody');
      expect((await store.increment('nobody')).totalHits).toBe(1);
    });

    test('decrement after the end of a window does not affect the next window', async () => {
      const { clock, store } = opened();
      await store.increment('a');
      clock.advance(MINUTE);
      await store.decrement('a');
      expect((await store.increment('a')).totalHits).toBe(1);
    });

    test('resetKey clears only the given client', async () => {
      const { store } = opened();
      await store.increment('a');
      await store.increment('b');
      await store.resetKey('a');
      expect(await store.get('a')).toBeUndefined();
      expect((await store.increment('a')).totalHits).toBe(1);
      expect((await store.increment('b')).totalHits).toBe(2);
    });

    test('concurrent increments all get different counts', async () => {
      const { store } = opened();
      const hits = await Promise.all(Array.from({ length: 200 }, () => store.increment('a')));
      expect(hits.map(({ totalHits }) => totalHits).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 200 }, (_, i) => i + 1),
      );
    });

    test('later hits do not change a returned result', async () => {
      const { store } = opened();
      const first = await store.increment('a');
      await store.increment('a');
      expect(first.totalHits).toBe(1);
    });

    test('with a window of length 0, every hit counts as the first', async () => {
      for (const windowMs of [0, -1]) {
        const { store } = opened(windowMs);
        await store.increment('a');
        expect(await store.increment('a')).toEqual({ totalHits: 1, resetTime: new Date(START) });
        expect(await store.get('a')).toBeUndefined();
        await store.decrement('a');
        await store.resetKey('a');
      }
    });
  });

  test('resetAll and shutdown clear every count in memory, and the store stays usable', async () => {
    const store = make();
    store.init({ windowMs: MINUTE });
    for (const forget of [() => store.resetAll?.(), () => store.shutdown()]) {
      await store.increment('a');
      await store.increment('b');
      await forget();
      expect((await store.increment('a')).totalHits).toBe(1);
      expect((await store.increment('b')).totalHits).toBe(1);
      await store.resetKey('a');
      await store.resetKey('b');
    }
  });

  test('sluiceStore() with a given store has no resetAll, and does not close that store', async () => {
    const shared = memory();
    const store = make({ store: shared });
    store.init({ windowMs: MINUTE });
    await store.increment('a');
    expect(store.resetAll).toBeUndefined();
    await store.shutdown();
    expect((await store.increment('a')).totalHits).toBe(2);
  });

  test('localKeys is true only for the default memory store', () => {
    expect(make().localKeys).toBe(true);
    expect(make({ store: memory() }).localKeys).toBe(false);
  });

  test('stores share their counts only if they have the same prefix', async () => {
    const shared = memory();
    const [a, twin, other] = ['a', 'a', 'b'].map((prefix) => make({ store: shared, prefix }));
    for (const store of [a, twin, other]) store.init({ windowMs: MINUTE });
    await a.increment('key');
    expect((await twin.increment('key')).totalHits).toBe(2);
    expect((await other.increment('key')).totalHits).toBe(1);
    expect([a.prefix, other.prefix]).toEqual(['a', 'b']);
  });

  test('sluiceStore() reports the end of the window as a Date of the system clock if no clock is given', async () => {
    const store = make();
    store.init({ windowMs: MINUTE });
    const before = Date.now();
    const { resetTime } = await store.increment('a');
    expect(resetTime.getTime()).toBeGreaterThanOrEqual(before + MINUTE);
    expect(resetTime.getTime()).toBeLessThanOrEqual(Date.now() + MINUTE);
  });

  test('a hit needs one store call', async () => {
    const counting = counted(memory());
    const store = make({ store: counting });
    store.init({ windowMs: MINUTE });
    for (let i = 0; i < 5; i++) await store.increment('a');
    expect(counting.asked()).toBe(5);
  });

  test('sluiceStore() rejects a misspelled option, and a hit before init', async () => {
    const misspelt = { perfix: 'a' } as SluiceStoreOptions;
    expect(() => make(misspelt)).toThrow(
      expect.objectContaining({ code: 'ERR_UNKNOWN_OPTION', option: 'sluiceStore.perfix' }),
    );
    expect(() => make({ prefix: '' })).toThrow(SluiceError);
    expect(() => make({ store: {} as never })).toThrow(SluiceError);
    await expect(make().increment('a')).rejects.toMatchObject({ code: 'ERR_MISSING_OPTION' });
  });

  describe("compared with the middleware's own store,", () => {
    afterEach(() => {
      vi.useRealTimers();
    });

    test('the same hits, resets and waits give the same counts and the same ends of windows', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(STEP, { maxLength: 40 }), async (steps) => {
          vi.useFakeTimers({ now: START });
          const theirs = makeTheirs();
          const ours = make({ clock: { now: () => Date.now() } });
          theirs.init({ windowMs: 100 } as never);
          ours.init({ windowMs: 100 });
          for (const each of steps) {
            if ('ms' in each) vi.advanceTimersByTime(each.ms);
            else if (each.do === 'resetKey') {
              await theirs.resetKey(each.key);
              await ours.resetKey(each.key);
            } else {
              // The middleware's store returns a record that it later changes.
              const expected = structuredClone(await theirs.increment(each.key));
              expect(await ours.increment(each.key)).toEqual(expected);
            }
          }
          theirs.shutdown();
        }),
        { numRuns: 200 },
      );
    });
  });
}
