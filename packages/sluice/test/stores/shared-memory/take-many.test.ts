/** Tests takes from several keys in one step: concurrent threads, threads that lose a lock, and threads that die. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { concurrency, createLimiter, fixedWindow, type Policy } from '../../../src/index.ts';
import { attachSharedMemory, sharedMemory } from '../../../src/stores/shared-memory/index.ts';
import { ARMED } from '../../../src/stores/shared-memory/lock.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { audit } from './audit.ts';

const START = 1_700_000_000_000;
const workers: Worker[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
});

interface Report {
  readonly admitted: number;
  readonly late: number;
  readonly atomic: boolean;
}

async function race(threads: number, rounds: number, limit: number) {
  const store = sharedMemory({ maxKeys: 50_000 });
  const signals = new Int32Array(new SharedArrayBuffer(4));
  const workerData = {
    task: 'many',
    handle: store.handle,
    signals,
    policies: 'window',
    limit,
    threads,
    rounds,
  };
  const reports = await Promise.all(
    Array.from({ length: threads }, async () => {
      const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData });
      workers.push(worker);
      return (await once(worker, 'message'))[0] as Report;
    }),
  );
  const sum = (field: 'admitted' | 'late') => reports.reduce((total, report) => total + report[field], 0);
  expect(reports.every(({ atomic }) => atomic)).toBe(true);
  audit(store.handle);
  return { store, admitted: sum('admitted'), late: sum('late') };
}

test('4 threads with two shared keys get exactly the limit, and no call is denied while its keys have units left', {
  timeout: 60_000,
}, async () => {
  const [rounds, limit] = [150, 50];
  const { store, admitted, late } = await race(4, rounds, limit);
  expect(admitted).toBe(rounds * limit);
  // Nothing is replenished, so a take that is allowed after a denial shows that there was room.
  expect(late).toBe(0);
  const policy = fixedWindow({ limit, per: '365d', align: 'first' });
  const limiter = createLimiter(policy, { store, name: 'test' });
  const left = (key: string): number => limiter.peek(key).policies[0].remaining;
  for (let round = 0; round < rounds; round++)
    expect([left(`organization ${round}`), left(`team ${round}`)]).toEqual([0, 0]);
});

test('two threads that take the same keys in opposite orders do not deadlock', {
  timeout: 60_000,
}, async () => {
  const [rounds, limit] = [5, 1000];
  const { admitted, late } = await race(2, rounds, limit);
  expect(admitted).toBe(rounds * limit);
  expect(late).toBe(0);
});

/** Calls `interrupt` immediately before or after the thread arms a journal for the n-th time. */
function interruptWrite(n: number, when: 'before' | 'after', interrupt: () => void): void {
  let writes = 0;
  spyOnLocks((exchange, _, expected, value) => {
    const isDue = expected !== 0 && value === (expected | ARMED) && ++writes === n;
    if (isDue && when === 'before') interrupt();
    const found = exchange();
    if (isDue && when === 'after') interrupt();
    return found;
  });
}

/** Calls `spy` instead of each exchange of a lock word. */
function spyOnLocks(
  spy: (exchange: () => number, at: number, expected: number, value: number) => number,
): () => void {
  const real = Atomics.compareExchange.bind(Atomics) as (...args: unknown[]) => number;
  const mock = vi.spyOn(Atomics, 'compareExchange').mockImplementation(((
    ...args: [Int32Array, number, number, number]
  ) => {
    const [, at, expected, value] = args;
    return spy(() => real(...args), at, expected, value);
  }) as typeof Atomics.compareExchange);
  return () => mock.mockRestore();
}

/** Two threads with the same limiter, and a list of keys. With 100 keys, they are in one stripe; with 50,000, in several. */
function setUp(policy: string | Policy, maxKeys: number) {
  const clock = manualClock(START);
  const store = sharedMemory({ maxKeys, clock });
  const slow = createLimiter(policy, { store, name: 'test' });
  const other = createLimiter(policy, { store: attachSharedMemory(store.handle, { clock }), name: 'test' });
  const keys = ['a', 'b', 'c'];
  const left = () => keys.map((key) => other.peek(key).remaining);
  return { clock, store, slow, other, left, items: keys.map((key) => ({ key })) };
}

const POLICIES = {
  gcra: '10/h',
  'fixed window': '10/h fixed-window',
  'sliding log': '10/h sliding-log',
  concurrency: concurrency({ limit: 10, lease: '1h' }),
};

describe.each([100, 50_000])('a thread that loses a lock to another thread, with %i keys,', (maxKeys) => {
  describe.each(Object.entries(POLICIES))('%s', (_, policy) => {
    test.each([1, 3])(
      'repeats the call if it loses the lock before write %i, so that every unit counts once',
      (n) => {
        const { store, slow, other, left, items } = setUp(policy, maxKeys);
        interruptWrite(n, 'before', () => void other.take(items[n - 1].key));
        const answer = slow.takeMany(items);
        expect(answer).toMatchObject({ allowed: true, atomic: true, taken: 3, remaining: 8 });
        expect(left()).toEqual(items.map((_, i) => (i === n - 1 ? 8 : 9)));
        audit(store.handle);
      },
    );

    test.each([1, 3])(
      'gives everything back if it loses the lock before write %i and the other thread uses up the key',
      (n) => {
        const { store, slow, other, left, items } = setUp(policy, maxKeys);
        interruptWrite(n, 'before', () => void other.take(items[n - 1].key, 10));
        expect(slow.takeMany(items)).toMatchObject({ allowed: false, atomic: true, taken: 0 });
        expect(left()).toEqual(items.map((_, i) => (i === n - 1 ? 0 : 10)));
        audit(store.handle);
      },
    );
  });

  test.each([1, 3])('repairs the lists of the stripe if it loses the lock during write %i', (n) => {
    const { store, slow, other, left, items } = setUp('10/h', maxKeys);
    interruptWrite(n, 'after', () => {
      for (let i = 0; i < 30; i++) other.take(`other ${i}`);
    });
    expect(slow.takeMany(items)).toMatchObject({ allowed: true, atomic: true, taken: 3 });
    expect(left()).toEqual([9, 9, 9]);
    for (let i = 0; i < 30; i++) expect(other.peek(`other ${i}`).remaining).toBe(9);
    audit(store.handle);
  });

  test('does not give back units that were replenished and taken by another thread in the meantime', () => {
    const { clock, store, slow, other, left, items } = setUp('10/h token-bucket', maxKeys);
    interruptWrite(3, 'before', () => {
      clock.advance(3_600_000);
      for (const { key } of items) other.take(key, 10);
    });
    expect(slow.takeMany(items).allowed).toBe(false);
    expect(left()).toEqual([0, 0, 0]);
    audit(store.handle);
  });

  test('notices the loss before anything is written', () => {
    const store = sharedMemory({ maxKeys });
    const other = createLimiter('10/d fixed-window', { store, name: 'test' });
    let readings = 0;
    const clock = {
      now() {
        if (++readings === 1) other.take('b', 4);
        return Date.now();
      },
    };
    const attached = attachSharedMemory(store.handle, { clock });
    const slow = createLimiter('10/d fixed-window', { store: attached, name: 'test' });
    const { decisions } = slow.takeMany([{ key: 'a' }, { key: 'b', cost: 0 }]);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([9, 6]);
    expect(readings).toBe(2);
    expect(other.peek('a').remaining).toBe(9);
    audit(store.handle);
  });
});

test('a thread that dies leaves each row either unchanged or charged', { timeout: 60_000 }, () => {
  const found = new Set<string>();
  for (let last = 1; ; last++) {
    const { store, slow, left, items } = setUp('10/h', 50_000);
    let exchanges = 0;
    const restore = spyOnLocks((exchange) => {
      if (++exchanges >= last) throw new Error('dead');
      return exchange();
    });
    let isDead = false;
    try {
      slow.takeMany(items);
    } catch (error) {
      expect(String(error)).toContain('dead');
      isDead = true;
    }
    restore();
    found.add(left().join(' '));
    audit(store.handle);
    if (!isDead) break;
  }
  // The rows are written in the order of the items.
  expect([...found]).toEqual(['10 10 10', '9 10 10', '9 9 10', '9 9 9']);
});

test('a row that is evicted in favor of another row of the same call is charged nevertheless', () => {
  const { store, slow, other } = setUp('10/h', 3);
  other.take('b', 1);
  for (const key of ['x', 'y']) other.take(key, 5);
  // Only three rows fit, and the new row evicts the one with the fewest units used.
  expect(slow.takeMany([{ key: 'a', cost: 9 }, { key: 'b' }]).allowed).toBe(true);
  expect(['a', 'b'].map((key) => other.peek(key).remaining)).toEqual([1, 8]);
  audit(store.handle);
});

// In any other order, two threads could wait for each other until one of them is presumed dead.
test('the locks of all stripes are taken in ascending order and released in descending order', () => {
  const { slow } = setUp('10/h', 50_000);
  const taken: number[] = [];
  const released: number[] = [];
  spyOnLocks((exchange, at, expected, value) => {
    if (expected === 0) taken.push(at);
    if (value === 0) released.push(at);
    return exchange();
  });
  slow.takeMany(Array.from({ length: 20 }, (_, i) => ({ key: `key ${i}` })));
  expect(taken.length).toBeGreaterThan(5);
  expect(taken).toEqual([...new Set(taken)].sort((a, b) => a - b));
  expect(released).toEqual(taken.toReversed());
});
