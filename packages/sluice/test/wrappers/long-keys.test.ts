/** Keys come from clients, and some are very long. The memory that wrappers use for them must stay small. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  type Decision,
  fixedWindow,
  leased,
  type Limiter,
  type MaybePromise,
  memory,
  type Store,
  synced,
} from '../../src/index.ts';
import type { Hit } from '../../src/store.ts';
import { manualClock } from '../../src/testing/index.ts';
import { closures } from '../../src/http/client/retry-budget.ts';
import { denyCache } from '../../src/wrappers/deny-cache.ts';
import { HeldPlaces } from '../../src/wrappers/resilient/held-places.ts';
import { MAX_CACHEABLE_LENGTH } from '../../src/wrappers/shared/cacheable-key.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Heap in use, in megabytes. */
function heap(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

const KEYS = 4000;
const LENGTH = 100_000;
/** How much the heap may grow, in megabytes. 4,000 keys of 100 kB take 400 MB. */
const MAX_GROWTH = 20;
const LIMIT = 200;

/** A memory store that answers with promises, as a remote store does, and counts its hits. */
function remote() {
  const rows = memory({ clock: manualClock(1_700_000_000_000) });
  const asked = { hits: 0 };
  const store: Store<Promise<Decision>> = {
    clock: rows.clock,
    async apply(hit) {
      asked.hits++;
      return rows.apply(hit);
    },
    close: () => rows.close(),
  };
  return { store, asked };
}

type Wrap = (store: Store<Promise<Decision>>) => Store<MaybePromise<Decision>>;

const wrappers: [name: string, wrap: Wrap][] = [
  ['denyCache', (store) => denyCache(store)],
  ['leased', (store) => leased(store, { clock: manualClock(0), nodes: 1 })],
  ['synced', (store) => synced(store, { every: '1s', clock: manualClock(0) })],
];

describe.each(wrappers)('%s', (_, wrap) => {
  function open() {
    const { store, asked } = remote();
    const policy = fixedWindow({ limit: LIMIT, per: '1d' });
    const limiter: Limiter<MaybePromise<Decision>> = createLimiter(policy, {
      store: wrap(store),
      name: 'api',
    });
    return { limiter, asked };
  }

  /** Memory that is still in use after every key has used up its limit. */
  async function growth(keyOf: (i: number) => string): Promise<number> {
    const { limiter } = open();
    await limiter.take('warm-up');
    const before = heap();
    for (let i = 0; i < KEYS; i++) {
      expect((await limiter.take(keyOf(i), LIMIT)).remaining).toBe(0);
    }
    const after = heap();
    // This keeps the limiter and its memory alive until here.
    expect((await limiter.take('warm-up')).allowed).toBe(true);
    return after - before;
  }

  test('does not keep 4,000 keys of 100 kB in memory', async () => {
    expect(await growth((i) => `${i} ${'x'.repeat(LENGTH)}`)).toBeLessThan(MAX_GROWTH);
  });

  test('does not retain the string from which a short key was sliced', async () => {
    const slice = (i: number): string => `a key with the number ${i} ${'x'.repeat(LENGTH)}`.slice(0, 40);
    expect(await growth(slice)).toBeLessThan(MAX_GROWTH);
  });

  test('does not remember a very long key, but limits it exactly, because the store decides all its hits', async () => {
    const { limiter, asked } = open();
    const key = 'x'.repeat(MAX_CACHEABLE_LENGTH + 1);
    for (let i = 0; i < LIMIT; i++) expect((await limiter.take(key)).allowed).toBe(true);
    for (let i = 0; i < 10; i++)
      expect(await limiter.take(key)).toMatchObject({ allowed: false, source: 'store' });
    expect(asked.hits).toBe(LIMIT + 10);
    expect((await limiter.refund(key)).remaining).toBe(1);
    expect((await limiter.peek(key)).allowed).toBe(true);
    expect((await limiter.take(`${key}y`)).remaining).toBe(LIMIT - 1);
    await limiter.block(key, '1m');
    expect(await limiter.take(key)).toMatchObject({ allowed: false, policy: 'block' });
    await limiter.reset(key);
    expect(await limiter.take(key)).toMatchObject({ allowed: true, remaining: LIMIT - 1 });
  });

  test('answers hits from memory for a key of a thousand characters', async () => {
    const { limiter } = open();
    const key = 'x'.repeat(1000);
    for (let i = 0; i < LIMIT + 10; i++) await limiter.take(key);
    expect((await limiter.take(key)).source).not.toBe('store');
  });
});

describe('waits that servers announce to limitedFetch', () => {
  test('are remembered for 4,000 keys of 100 kB without keeping all these keys in memory', () => {
    const closed = closures(manualClock(0));
    const before = heap();
    for (let i = 0; i < KEYS; i++) closed.close(`${i} ${'x'.repeat(LENGTH)}`, 1000);
    expect(heap() - before).toBeLessThan(MAX_GROWTH);
    expect(closed.left(`${KEYS - 1} ${'x'.repeat(LENGTH)}`)).toBe(1000);
  });

  test('are remembered for thousands of short keys', () => {
    const closed = closures(manualClock(0));
    for (let i = 0; i < 9000; i++) closed.close(`https://service-${i}.example`, 1000);
    for (let i = 0; i < 9000; i++) expect(closed.left(`https://service-${i}.example`)).toBe(1000);
  });
});

test('the record of held places omits the places of very long keys', () => {
  const hits: Hit[] = [];
  const store: Store<Promise<Decision>> = {
    clock: manualClock(0),
    async apply(hit) {
      hits.push(hit);
      return memory().apply(hit);
    },
    close() {},
  };
  const jobs = createLimiter(concurrency({ limit: 1, lease: '1m' }), { store, name: 'jobs' });
  const holds = new HeldPlaces();
  for (const length of [MAX_CACHEABLE_LENGTH, MAX_CACHEABLE_LENGTH + 1]) void jobs.take('k'.repeat(length));
  for (const hit of hits) holds.add(hit, 0, 1, false);
  expect(holds.size).toBe(1);
});
