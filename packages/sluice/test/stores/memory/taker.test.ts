/** A plain take sends no hit to `apply`. It must decide exactly as `apply` would, whatever happened before. */
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createLimiter, type Decision, type Limiter, memory } from '../../../src/index.ts';
import type { Hit, MemoryStore } from '../../../src/store.ts';
import { insideOf } from '../../../src/stores/memory/memory.ts';
import { save } from '../../../src/stores/memory/saved.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { CASES } from '../../support/policies.ts';

const START = 1_700_000_000_000;

/** A wrapper that replaces `apply`, as wrappers of users do. Its limiters send a hit for every take. */
function wrapped(store: MemoryStore, seen: (hit: Hit) => void = () => {}): MemoryStore {
  return {
    ...store,
    apply(hit) {
      seen(hit);
      return store.apply(hit);
    },
  };
}

/** With the same seed, two stores have the same fingerprints, so their rows can be compared. */
function reseed(store: MemoryStore): void {
  insideOf(store)?.restart(Int32Array.of(1, 2));
}

const op = fc.record({
  verb: fc.constantFrom(
    'take',
    'take',
    'take',
    'cost',
    'options',
    'block',
    'unblock',
    'reset',
    'refund',
    'join',
    'close',
  ),
  key: fc.constantFrom('a', 'b', 'c'),
  cost: fc.oneof(fc.integer({ min: 1, max: 8 }), fc.double({ min: 0.1, max: 4, noNaN: true })),
  gap: fc.oneof(fc.constant(0), fc.integer({ min: -20, max: 400 }), fc.integer({ min: 0, max: 20_000 })),
});
type Op = typeof op extends fc.Arbitrary<infer T> ? T : never;

function act(
  limiter: Limiter,
  store: MemoryStore,
  { verb, key, cost }: Op,
  joined: () => void,
): Decision | undefined {
  if (verb === 'take') return limiter.take(key);
  if (verb === 'cost') return limiter.take(key, cost);
  if (verb === 'options') return limiter.take(key, { cost });
  if (verb === 'block') return limiter.block(key, '300ms');
  if (verb === 'unblock') return limiter.unblock(key);
  if (verb === 'reset') return limiter.reset(key);
  if (verb === 'refund') return limiter.refund(key, cost);
  if (verb === 'close') {
    void store.close();
    reseed(store);
  } else joined();
  return undefined;
}

describe('a plain take', () => {
  for (const [name, { policies }] of Object.entries(CASES)) {
    test(`makes the same decisions and writes the same rows as a hit: ${name}`, () => {
      fc.assert(
        fc.property(fc.array(op, { minLength: 1, maxLength: 40 }), (ops) => {
          const clock = manualClock(START);
          const stores = [memory({ clock }), memory({ clock })];
          stores.forEach(reseed);
          const sides = [stores[0], wrapped(stores[1])].map((store, i) => ({
            store: stores[i],
            limiter: createLimiter(policies, { store, name: 'api' }),
          }));
          let limit = 1;
          for (const step of ops) {
            clock.set(clock.now() + step.gap);
            limit++;
            const decisions = sides.map(({ limiter, store }) =>
              act(limiter, store, step, () => {
                // Another version of the limiter. Both versions use the same rows if their algorithms are the same.
                const other = createLimiter(`${limit}/min`, { store: { ...store }, name: 'api' });
                other.take(step.key);
              }),
            );
            expect(decisions[0]).toStrictEqual(decisions[1]);
            const [mine, its] = stores.map((store) => {
              const spaces = insideOf(store)?.spaces();
              return spaces && save(spaces, clock.now()).tables.map(({ rows, width }) => ({ rows, width }));
            });
            expect(mine).toStrictEqual(its);
          }
        }),
        { numRuns: 60 },
      );
    });
  }

  test('sends no hit, while a take with options does', () => {
    const store = memory();
    const limiter = createLimiter('100/min', { store });
    const apply = vi.spyOn(store, 'apply');
    limiter.take('k');
    limiter.take('k', 2);
    expect(apply).not.toHaveBeenCalled();
    limiter.take('k', { cost: 1 });
    expect(apply).toHaveBeenCalledOnce();
  });

  test('sends a hit to a wrapper that copies the store and replaces apply', () => {
    const seen: Hit[] = [];
    const limiter = createLimiter('100/min', { store: wrapped(memory(), (hit) => seen.push(hit)) });
    limiter.take('k');
    limiter.take('k', 2);
    expect(seen.map(({ verb, cost }) => [verb, cost])).toEqual([
      ['take', 1],
      ['take', 2],
    ]);
  });

  test('rejects invalid keys and costs, and charges nothing for a cost of 0', () => {
    const limiter = createLimiter('100/min');
    expect(() => limiter.take(1 as unknown as string)).toThrow('ERR_KEY');
    for (const cost of [-1, Number.NaN, Infinity, 2 ** 54])
      expect(() => limiter.take('k', cost)).toThrow('ERR_COST');
    expect(limiter.take('k', 0).remaining).toBe(100);
    expect(limiter.take('k').remaining).toBe(99);
  });

  test('starts from scratch after the store was closed', () => {
    const store = memory({ clock: manualClock(START) });
    const limiter = createLimiter('2/min', { store });
    for (let round = 0; round < 2; round++) {
      expect([limiter.take('k'), limiter.take('k'), limiter.take('k')].map(({ allowed }) => allowed)).toEqual(
        [true, true, false],
      );
      expect(store.size).toBe(1);
      void store.close();
      expect(store.size).toBe(0);
    }
  });

  test('respects a manual block until it ends or is lifted', () => {
    const clock = manualClock(START);
    const limiter = createLimiter('10/min', { store: memory({ clock }) });
    limiter.take('k');
    limiter.block('k', '1s');
    expect(limiter.take('k').policy).toBe('block');
    expect(limiter.take('other').allowed).toBe(true);
    clock.advance(1001);
    expect(limiter.take('k').allowed).toBe(true);
    limiter.block('k', '1h');
    expect(limiter.take('k').allowed).toBe(false);
    limiter.unblock('k');
    expect(limiter.take('k').allowed).toBe(true);
  });

  test('counts the units that limiters with the same name and other plans took, however many such limiters there are', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter('100/min', { store, name: 'api' });
    limiter.take('k');
    for (let i = 1; i <= 8; i++) {
      const other = createLimiter(`${100 + i}/min`, { store: { ...store }, name: 'api' });
      expect(other.take('k').allowed).toBe(true);
    }
    expect(limiter.take('k').remaining).toBe(90);
  });

  describe('with fake timers', () => {
    afterEach(() => {
      vi.useRealTimers();
    });

    test('follows the fake clock, even if that clock is installed after the first take', () => {
      const limiter = createLimiter('1/min');
      expect(limiter.take('k').allowed).toBe(true);
      vi.useFakeTimers();
      expect(limiter.take('k').allowed).toBe(false);
      // The fake clock starts at a whole millisecond, which may be before the first take.
      vi.advanceTimersByTime(60_001);
      expect(limiter.take('k').allowed).toBe(true);
      expect(limiter.take('k').allowed).toBe(false);
    });
  });
});

describe('keys that are fully replenished before they are used again', () => {
  test('keep their rows, so that rows are not added again at every check', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter('1000000/min', { store });
    let added = 0;
    for (let i = 0; i < 60_000; i++) {
      // A hundred thousand checks per second: 5,000 keys that are each checked 20 times per second.
      clock.advance(0.01);
      const before = store.size;
      limiter.take(`key ${(i * 7919) % 5000}`);
      if (i >= 30_000 && store.size !== before) added++;
    }
    expect(added).toBe(0);
  });
});
