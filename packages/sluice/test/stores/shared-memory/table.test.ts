/**
 * Tests the shared table in one thread. It must decide as memory does, stay within its bounds, and recover after a lock holder
 * died.
 */
import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  gcra,
  type Limiter,
  memory,
  slidingLog,
  type SluiceError,
  metered,
} from '../../../src/index.ts';
import { attachSharedMemory, sharedMemory } from '../../../src/stores/shared-memory/index.ts';
import { layoutOf } from '../../../src/stores/shared-memory/layout.ts';
import { Rows } from '../../../src/stores/shared-memory/rows.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { CASES } from '../../support/policies.ts';
import { audit } from './audit.ts';

const START = 1_700_000_000_000;

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('shared memory makes exactly the same decisions as memory', () => {
  /** Any verb, by number, so that two limiters receive the same calls. */
  function ask(limiter: Limiter, verb: number, key: string, cost: number, span: number): unknown {
    if (verb === 0) return limiter.peek(key, cost);
    if (verb === 1) return limiter.refund(key, cost);
    if (verb === 2) return limiter.release(key, cost);
    if (verb === 3) {
      const { decision, delay } = limiter.reserve(key, { cost, maxDelay: span });
      return { decision, delay };
    }
    if (verb === 4 && span % 10 === 0) return limiter.block(key, span);
    if (verb === 5 && span % 10 === 0) return limiter.reset(key);
    // A take without other options has a shorter path through the store.
    if (verb % 6 === 0) return limiter.take(key, cost);
    const mode = (['whole', 'partial', 'always'] as const)[verb % 3];
    return limiter.take(key, { cost, mode });
  }

  /**
   * Allows for small differences. Memory keeps a row of zeros where shared memory keeps no row, and a refund to such a row may
   * leave a quarter of a microsecond in it.
   */
  function forgiving(value: unknown): unknown {
    if (typeof value === 'number' && Number.isFinite(value)) return expect.closeTo(value, 3);
    if (Array.isArray(value)) return value.map(forgiving);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([field, one]) => [field, forgiving(one)]));
  }

  test.each(Object.entries(CASES))('%s', (name, { policies }) => {
    const clock = manualClock(START);
    const draw = random(7);
    const here = createLimiter(policies, { store: memory({ clock }) });
    const store = sharedMemory({ clock, maxKeys: 500 });
    const shared = [store, attachSharedMemory(store.handle, { clock })].map((one) =>
      createLimiter(policies, { store: one, name: 'api' }),
    );
    for (let i = 0; i < 5000; i++) {
      const gap = [0, draw(60), draw(60_000) / 1000, draw(1500)][draw(4)];
      clock.set(clock.now() + (draw(200) === 0 ? -draw(3000) : gap));
      const hit = [draw(16), `key ${draw(4)}`, draw(14) / 2, 1 + draw(700)] as const;
      // Two views of one buffer take turns.
      const [actual, expected] = [ask(shared[draw(2)], ...hit), ask(here, ...hit)];
      expect(actual).toEqual(name.includes('microseconds') ? forgiving(expected) : expected);
    }
    audit(store.handle);
  });
});

describe('bounds', () => {
  test('a flood of new keys evicts no blocked key and uses no more memory', () => {
    const clock = manualClock(START);
    const store = sharedMemory({ clock, maxKeys: 10_000 });
    const limiter = createLimiter(gcra({ limit: 100, per: '1h' }), { store, name: 'api' });
    const victims = Array.from({ length: 2000 }, (_, i) => `victim ${i}`);
    for (const victim of victims) limiter.take(victim, 100);
    limiter.block('blocked', '1d');
    for (let i = 0; i < 100_000; i++) {
      limiter.take(`flood ${i}`);
      if (i % 1000 === 0) clock.advance(1);
    }
    expect(store.size).toBeGreaterThanOrEqual(10_000);
    expect(store.size).toBeLessThan(14_000);
    for (const victim of victims) expect(limiter.take(victim).allowed).toBe(false);
    expect(limiter.take('blocked').policy).toBe('block');
    expect(audit(store.handle).rows).toBe(store.size);
  });

  test.each([1, 7, 300, 5000])(
    'a table for %i keys can hold that many keys, regardless of how they are spread',
    (maxKeys) => {
      const store = sharedMemory({ clock: manualClock(START), maxKeys });
      const limiter = createLimiter('1/h', { store, name: 'api' });
      for (let i = 0; i < maxKeys; i++) limiter.take(`key ${i}`);
      let kept = 0;
      for (let i = 0; i < maxKeys; i++) if (!limiter.peek(`key ${i}`).allowed) kept++;
      expect(kept).toBe(maxKeys);
      expect(store.size).toBe(maxKeys);
    },
  );

  test('a denied take on a new key leaves no row', () => {
    const store = sharedMemory({ clock: manualClock(START), maxKeys: 100 });
    const limiter = createLimiter('1/h', { store, name: 'api' });
    for (let i = 0; i < 50; i++) limiter.take(`key ${i}`, 2);
    expect(store.size).toBe(0);
  });

  test('sliding logs free their memory, and the one closest to being fully replenished is evicted to make room for another', () => {
    const clock = manualClock(START);
    const store = sharedMemory({ clock, maxKeys: 50, logEntries: 1000 });
    const limiter = createLimiter(concurrency({ limit: 20, lease: '1h' }), { store, name: 'api' });
    limiter.take('last', 20);
    for (let i = 0; i < 2000; i++) {
      clock.advance(1);
      const key = `key ${i % 300}`;
      for (let n = i % 20; n >= 0; n--) limiter.take(key);
      if (i % 3 === 0) limiter.refund(key, 20);
      if (i % 7 === 0) limiter.take('last', 20);
    }
    const { units } = audit(store.handle);
    expect(units).toBeLessThanOrEqual(252);
    for (let i = 0; i < 300; i++) limiter.reset(`key ${i}`);
    limiter.reset('last');
    expect(audit(store.handle)).toEqual({ rows: 0, units: 0 });
  });

  test('a sliding log that can outgrow the memory is rejected when the limiter is created, with advice', () => {
    const store = sharedMemory({ clock: manualClock(START), maxKeys: 100 });
    const log3000 = slidingLog({ limit: 3000, per: '1h' });
    let thrown: SluiceError | undefined;
    try {
      createLimiter(log3000, { store, name: 'api' });
    } catch (error) {
      thrown = error as SluiceError;
    }
    // The log is rejected in a tier and on a metered store as well.
    expect(() => createLimiter('10/h', { store, name: 'api', tiers: { pro: log3000 } })).toThrow(
      /logEntries/,
    );
    expect(() => createLimiter(log3000, { store: metered(store, { decided() {} }), name: 'api' })).toThrow(
      thrown,
    );
    expect(thrown?.code).toBe('ERR_POLICY');
    const logEntries = Number(/logEntries: (\d+)/.exec(String(thrown))?.[1]);
    const clock = manualClock(START);
    const roomy = sharedMemory({ clock, maxKeys: 100, logEntries });
    const log = createLimiter(slidingLog({ limit: 3000, per: '1h' }), { store: roomy, name: 'api' });
    let admitted = 0;
    for (let i = 0; i < 3200; i++) {
      clock.advance(0.01);
      if (log.take('k').allowed) admitted++;
    }
    expect(admitted).toBe(3000);
  });

  test('a sliding log that needs more memory does not evict its own row', () => {
    const { handle } = sharedMemory({ maxKeys: 50, logEntries: 24 });
    const layout = layoutOf(handle);
    const rows = new Rows(layout, 1);
    const put = (low: number, clearAt: number, value: number) => {
      rows.write(rows.open(low, 0), clearAt, 0, new Float64Array(60).fill(value), 60);
      rows.close();
    };
    // There are 8 units of memory, and a row of 60 cells takes 4 of them. The second log is being written, and it is also the log
    // that is closest to being replenished.
    put(1, START + 2, 1);
    put(2, START + 1, 1);
    put(2, START + 1, 2);
    expect(audit(handle)).toEqual({ rows: 1, units: 4 });
    const slot = rows.open(2, 0);
    expect(layout.cells[slot / 2 + 3]).toBe(2);
    rows.close();
  });

  test('a row is kept until it is fully replenished for every tier that wrote it', () => {
    const clock = manualClock(START);
    const store = sharedMemory({ clock, maxKeys: 40 });
    const limiter = createLimiter(slidingLog({ limit: 10, per: '1h' }), {
      store,
      tiers: { pro: slidingLog({ limit: 100, per: '1m' }) },
      name: 'log',
    });
    const other = createLimiter('10/h', { store, name: 'rate' });
    limiter.take('k', 10);
    limiter.take('k', { tier: 'pro' });
    // These rows are fully replenished in half an hour: later than the log for the faster tier, sooner than the log for the slower.
    for (let i = 0; i < 500; i++) other.take(`flood ${i}`, 5);
    expect(limiter.take('k').allowed).toBe(false);
  });

  test('rows wider than a slot keep all their cells', () => {
    const store = sharedMemory({ clock: manualClock(START), maxKeys: 100 });
    const policies = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [`p${i}`, gcra({ limit: 10 + i, per: '1h' })]),
    );
    const limiter = createLimiter(policies, { store, name: 'api' });
    limiter.take('k', 4);
    limiter.take('other', 1);
    expect(limiter.take('k', 3).policies.map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 20 }, (_, i) => 3 + i),
    );
    audit(store.handle);
  });
});

describe('options', () => {
  test('a handle that is not from sharedMemory() is rejected', () => {
    expect(() => attachSharedMemory(new SharedArrayBuffer(64))).toThrow('handle');
    expect(() => attachSharedMemory({} as SharedArrayBuffer)).toThrow('handle');
    expect(() => sharedMemory({} as { maxKeys: number })).toThrow('maxKeys');
    expect(() => sharedMemory({ maxKeys: 2 ** 50 })).toThrow('bytes');
  });
});

test('a check that lost its lock to another check is repeated, and both are counted', () => {
  const store = sharedMemory({ maxKeys: 50 });
  const other = createLimiter('10/d fixed-window', { store, name: 'x' });
  let readings = 0;
  const clock = {
    now() {
      // Interrupts a check with another check, which waits for the lock and then takes it over.
      if (++readings === 1) other.take('k');
      return Date.now();
    },
  };
  const slow = createLimiter('10/d fixed-window', {
    store: attachSharedMemory(store.handle, { clock }),
    name: 'x',
  });
  expect(slow.take('k').remaining).toBe(8);
  expect(readings).toBe(2);
  audit(store.handle);
});

describe('a lock holder', () => {
  /** The fingerprint by which the row of the key is found. */
  const tag = 4711;

  function setUp() {
    const { handle } = sharedMemory({ maxKeys: 50, clock: manualClock(START) });
    const layout = layoutOf(handle);
    const [dies, lives] = [new Rows(layout, 1), new Rows(layout, 2)];
    const row = (...cells: number[]) => Float64Array.from(cells);
    const long = (value: number) => Float64Array.from({ length: 60 }, () => value);
    const put = (rows: Rows, low: number, cells: Float64Array) => {
      rows.write(rows.open(low, 0), START, 0, cells, cells.length);
      return rows.close();
    };
    const get = (rows: Rows, low: number, cell = 0): number | undefined => {
      const slot = rows.open(low, 0);
      const value = slot < 0 ? undefined : layout.cells[slot / 2 + 3 + cell];
      rows.close();
      return value;
    };
    /** Makes the holder die in a method. */
    const dieIn = (method: 'carryOut' | 'link') => {
      Object.assign(dies, {
        [method]() {
          throw new Error('dies');
        },
      });
    };
    return { handle, dies, lives, row, long, put, get, dieIn };
  }

  test('that dies before it changes anything leaves the old row intact, and makes other threads wait for 100 ms', () => {
    // The machine may pause, so the shortest of three runs counts.
    const blocked = [1, 2, 3].map(() => {
      const { handle, dies, lives, row, put, get } = setUp();
      put(dies, tag, row(1, 2));
      dies.open(tag, 0);
      const began = performance.now();
      expect(get(lives, tag, 1)).toBe(2);
      const took = performance.now() - began;
      expect(put(lives, tag, row(3, 4))).toBe(true);
      audit(handle);
      return took;
    });
    expect(Math.min(...blocked)).toBeGreaterThan(90);
    expect(Math.min(...blocked)).toBeLessThan(1000);
  });

  test.each(['short', 'long'] as const)(
    'that dies after it armed the journal leaves the complete new row: %s',
    (length) => {
      const { handle, dies, lives, row, long, put, get, dieIn } = setUp();
      put(dies, 1, long(1));
      put(dies, tag, length === 'short' ? row(1, 1) : long(1));
      dieIn('carryOut');
      expect(() => put(dies, tag, length === 'short' ? row(2, 2) : long(2))).toThrow('dies');
      expect([get(lives, tag, 0), get(lives, tag, 1)]).toEqual([2, 2]);
      expect(get(lives, 1)).toBe(1);
      expect(audit(handle)).toEqual({ rows: 2, units: length === 'short' ? 4 : 8 });
    },
  );

  test('that dies before it links its new row into a bucket leaves a row that can be found', () => {
    const { handle, dies, lives, row, long, put, get, dieIn } = setUp();
    for (let low = 1; low < 40; low++) put(dies, low, low % 3 === 0 ? long(low) : row(low));
    dieIn('link');
    expect(() => put(dies, tag, long(5))).toThrow('dies');
    expect(get(lives, tag)).toBe(5);
    for (let low = 1; low < 40; low++) expect(get(lives, low)).toBe(low);
    expect(audit(handle).rows).toBe(40);
  });

  test('that was only slow detects that it lost the lock, and changes nothing', () => {
    const { dies: slow, lives, row, put, get } = setUp();
    put(slow, tag, row(1));
    const slot = slow.open(tag, 0);
    put(lives, tag, row(2));
    slow.write(slot, START, 0, row(9), 1);
    expect(slow.close()).toBe(false);
    expect(get(lives, tag)).toBe(2);
    // This holds even if the thread notices only at the last moment.
    slow.open(tag, 0);
    put(lives, tag, row(2));
    Object.assign((slow as unknown as { lock: object }).lock, { isOurs: () => true });
    slow.write(slot, START, 0, row(9), 1);
    expect(slow.close()).toBe(false);
    expect(get(lives, tag)).toBe(2);
  });

  test('that was only slow repeats its check, so that no charge is lost', () => {
    const { handle, dies: slow, lives, row, put, get } = setUp();
    put(slow, tag, row(2));
    const slot = slow.open(tag, 0);
    lives.open(tag, 0);
    slow.forget(slot);
    expect(lives.close()).toBe(true);
    expect(get(lives, tag)).toBe(2);
    audit(handle);
  });
});
