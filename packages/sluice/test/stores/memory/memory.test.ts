import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concurrency, createLimiter, gcra, memory, slidingLog } from '../../../src/index.ts';
import { fingerprint, high, low, Table } from '../../../src/stores/table/table.ts';
import { manualClock } from '../../../src/testing/index.ts';

const START = 1_700_000_000_000;

describe('table', () => {
  /** Rows of one cell: the instant at which the row is fully replenished. */
  const kind = {
    width: 1,
    evictionWeight: (cells: Float64Array, at: number, now: number) => Math.max(0, cells[at] - now),
    forget() {},
  };

  test('behaves like a Map, whatever keys are added and dropped', () => {
    const op = fc.record({ key: fc.integer({ min: 0, max: 3000 }), wait: fc.integer({ min: 1, max: 5000 }) });
    fc.assert(
      fc.property(fc.array(op, { maxLength: 5000, minLength: 100 }), (ops) => {
        const table = new Table(kind, Infinity);
        const map = new Map<number, number>();
        let now = START;
        for (const { key, wait } of ops) {
          now += 1;
          let at = table.find(`key ${key}`);
          const known = map.get(key);
          // A row may be missing only if it is fully replenished; otherwise it holds what was written.
          if (at < 0) expect(known === undefined || known <= now).toBe(true);
          else expect(table.cells[at]).toBe(known);
          if (at < 0) at = table.add(`key ${key}`, now);
          table.cells[at] = now + wait;
          map.set(key, now + wait);
        }
        for (const [key, until] of map) {
          const at = table.find(`key ${key}`);
          if (until > now) expect(table.cells[at]).toBe(until);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('grows correctly even if its size estimates are far too low', () => {
    // Unless rows are being moved from an old generation, every row looks fully replenished, so the estimate makes the next
    // generation far too small.
    const migrates = () => table.generations.old !== undefined;
    const table = new Table(
      { ...kind, evictionWeight: (cells, at, now) => (migrates() ? Math.max(0, cells[at] - now) : 0) },
      Infinity,
    );
    for (let i = 0; i < 20_000; i++) {
      // Keys come so slowly that their number in the last second does not correct the estimate.
      const at = table.add(`key ${i}`, START + 1000 * i);
      table.cells[at] = 2 * START + i;
    }
    expect(table.size).toBe(20_000);
    for (let i = 0; i < 20_000; i++) {
      const at = table.find(`key ${i}`);
      expect(table.cells[at]).toBe(2 * START + i);
    }
  });
});

describe('fingerprint', () => {
  const seed = Int32Array.of(1, 2);
  const of = (key: string): string => {
    fingerprint(key, seed);
    return `${high}:${low}`;
  };

  test('differs for different strings, including lone surrogates and NULs', () => {
    const keys = [
      '',
      'a',
      'b',
      'ab',
      'ba',
      'a\0',
      '\0a',
      '\0',
      '\0\0',
      '\0\0\0',
      '\ud83d',
      '\ude00',
      '😀',
      'é',
      'e\u0301',
    ];
    expect(new Set(keys.map(of)).size).toBe(keys.length);
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary' }),
        (a, b) => a === b || of(a) !== of(b),
      ),
    );
  });

  test('differs for different seeds, even for the key that was hashed last', () => {
    fingerprint('a', Int32Array.of(3, 4));
    const other = `${high}:${low}`;
    expect(of('a')).not.toBe(other);
  });

  test('differs between processes', () => {
    const script = `
      const table = await import('./dist/stores/table/table.js');
      new table.Table({ width: 1, evictionWeight: () => 0, forget() {} }, Infinity).find('a');
      console.log(table.high, table.low);`;
    const runs = [1, 2, 3].map(() =>
      execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        cwd: new URL('../../..', import.meta.url),
      }).toString(),
    );
    expect(new Set(runs).size).toBe(3);
  });
});

describe('memory', () => {
  test('drops fully replenished rows as new keys arrive, and shrinks', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter('1/s', { store });
    for (let i = 0; i < 20_000; i++) limiter.take(`first ${i}`);
    expect(store.size).toBe(20_000);
    clock.advance(10_000);
    for (let i = 0; i < 40_000; i++) {
      clock.advance(0.5);
      limiter.take(`then ${i}`);
    }
    // 2,000 rows are in use at any time.
    expect(store.size).toBeLessThan(10_000);
  });

  test('allocates space for a sliding log as it records actions, and frees the space when the key is fully replenished', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter(slidingLog({ limit: 10_000, per: '10s' }), { store });
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 20_000; i++) limiter.take(`key ${i}`);
    const perKey = (process.memoryUsage().arrayBuffers - before) / 20_000;
    // The row has room for one action, not for ten thousand.
    expect(perKey).toBeLessThan(300);
    let passed = 0;
    for (let i = 0; i < 100_000; i++) {
      clock.advance(1);
      if (limiter.take('busy').allowed) passed++;
    }
    expect(passed).toBe(100_000);
    expect(limiter.take('busy', 2).allowed).toBe(false);
  });

  test('bounds the number of keys, and a flood of new keys evicts no denied or blocked key', () => {
    const clock = manualClock(START);
    const store = memory({ clock, maxKeys: 10_000 });
    const limiter = createLimiter(gcra({ limit: 100, per: '1h' }), { store });
    // The victims have a fifth of all rows, so that the last few rows of a generation are likely to include some of them.
    const victims = Array.from({ length: 2000 }, (_, i) => `victim ${i}`);
    for (const victim of victims) limiter.take(victim, 100);
    limiter.block('manually blocked', '1d');
    for (let i = 0; i < 200_000; i++) {
      limiter.take(`flood ${i}`);
      if (i % 1000 === 0) clock.advance(1);
    }
    expect(store.size).toBeLessThanOrEqual(10_001);
    for (const victim of victims) expect(limiter.take(victim).allowed).toBe(false);
    expect(limiter.take('manually blocked').allowed).toBe(false);
  });

  test('evicts sliding logs and reuses their rows', () => {
    const store = memory({ maxKeys: 100 });
    const limiter = createLimiter(concurrency({ limit: 2, lease: '1h' }), { store });
    for (let i = 0; i < 5000; i++) expect(limiter.take(`key ${i}`).remaining).toBe(1);
    expect(store.size).toBeLessThanOrEqual(100);
    expect(limiter.take('key 4999').remaining).toBe(0);
  });

  test('shares keys between limiters with the same name, even after a limit changes, but not with other limiters', async () => {
    const store = memory({ clock: manualClock(START) });
    const first = createLimiter('10/s', { store, name: 'api' });
    first.take('k', 4);
    // 400 ms of debt are 8 units at 20 per second.
    const second = createLimiter('20/s', { store, name: 'api' });
    expect(second.take('k').remaining).toBe(11);
    for (const limiter of [first, second]) await limiter.close();
    expect(createLimiter('10/s fixed-window', { store, name: 'api' }).take('k').remaining).toBe(9);
    expect(createLimiter('10/s', { store, name: 'other' }).take('k').remaining).toBe(9);
    expect(createLimiter('20/s', { store }).take('k').remaining).toBe(19);
  });

  test('keeps rows of a slower tier even if they would be fully replenished in a faster tier', () => {
    const clock = manualClock(START);
    const limiter = createLimiter('10/h', { store: memory({ clock }), tiers: { pro: '10000000/h' } });
    limiter.take('free', 10);
    for (let i = 0; i < 1000; i++) {
      clock.advance(1);
      limiter.take(`pro ${i}`, { tier: 'pro' });
    }
    expect(limiter.take('free').allowed).toBe(false);
  });

  test('limits each key by its own policies, even if there are many policies', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter((key) => `${key.length}/h`, { store });
    const keys = Array.from({ length: 60 }, (_, i) => 'x'.repeat(i + 1));
    for (const key of keys) expect(limiter.take(key, key.length).allowed).toBe(true);
    for (let i = 0; i < 2000; i++) {
      clock.advance(0.01);
      limiter.take(`${'y'.repeat(200)}${i}`);
    }
    for (const key of keys) expect(limiter.take(key).allowed).toBe(false);
  });

  test('applies a manual block and a reset to all tiers of a limiter', () => {
    const limiter = createLimiter('10/min', {
      tiers: { pro: '10/min fixed-window' },
      store: memory({ clock: manualClock(START) }),
    });
    limiter.take('k', { tier: 'pro', cost: 10 });
    limiter.block('k', '1h');
    expect(limiter.take('k').policy).toBe('block');
    expect(limiter.take('k', { tier: 'pro' }).policy).toBe('block');
    limiter.reset('k');
    expect(limiter.take('k').allowed).toBe(true);
    expect(limiter.take('k', { tier: 'pro' }).remaining).toBe(9);
  });

  test('shares rows between any number of limiters that are created with the same limits', () => {
    const store = memory({ clock: manualClock(START) });
    for (let i = 0; i < 40; i++)
      expect(createLimiter('100/min', { store, name: 'api' }).take('k').remaining).toBe(99 - i);
  });

  test('does not keep the process alive', () => {
    const script = `
      const { createLimiter } = await import('./dist/index.js');
      const limiter = createLimiter('1/min');
      for (let i = 0; i < 1000; i++) limiter.take('key ' + i);
      limiter.block('x', '1h');
      const abort = new AbortController();
      limiter.acquire('key 1', { signal: abort.signal }).catch(() => console.log('ended'));
      abort.abort();`;
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: new URL('../../..', import.meta.url),
      timeout: 50_000,
    });
    expect(out.toString()).toBe('ended\n');
  });
});
