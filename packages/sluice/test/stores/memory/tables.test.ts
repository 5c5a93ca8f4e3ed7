/** Tests tables whose rows become wider, and tables that are no longer used. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLimiter, gcra, memory } from '../../../src/index.ts';
import type { RowKind } from '../../../src/stores/table/generations.ts';
import { Table } from '../../../src/stores/table/table.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { another } from '../../support/stores.ts';

const START = 1_700_000_000_000;

/** Rows that hold the instant at which they are fully replenished and, once widened, also twice that instant. */
class Kind implements RowKind {
  width = 1;
  extended = 0;
  evictionWeight(cells: Float64Array, at: number, now: number, width: number): number {
    if (width === 2 && cells[at + 1] !== 2 * cells[at]) throw new Error('a row lost its second cell');
    return Math.max(0, cells[at] - now);
  }
  forget(): void {}
  extend(cells: Float64Array, at: number): void {
    if (cells[at + 1] !== 0) throw new Error('a row was extended twice');
    cells[at + 1] = 2 * cells[at];
    this.extended++;
  }
}

describe('a table that is widened', () => {
  test('behaves like a Map, whenever it is widened and whatever keys are added and dropped', () => {
    const op = fc.record({ key: fc.integer({ min: 0, max: 3000 }), wait: fc.integer({ min: 1, max: 5000 }) });
    const ops = fc.array(op, { maxLength: 5000, minLength: 100 });
    const maxKeys = fc.constantFrom(Infinity, 10_000);
    fc.assert(
      fc.property(ops, fc.integer({ min: 0, max: 5000 }), maxKeys, (all, widened, most) => {
        const kind = new Kind();
        const table = new Table(kind, most);
        const map = new Map<number, number>();
        let now = START;
        for (const [i, { key, wait }] of all.entries()) {
          now += 1;
          if (i === widened) {
            kind.width = 2;
            table.generations.widen();
          }
          const isWide = i >= widened;
          let at = isWide ? table.findWide(`key ${key}`, now) : table.find(`key ${key}`);
          const known = map.get(key);
          // A row may be missing only when it is fully replenished; otherwise it holds what was written.
          if (at < 0) expect(known === undefined || known <= now).toBe(true);
          else expect(table.cells[at]).toBe(known);
          if (at < 0) at = table.add(`key ${key}`, now);
          else if (isWide) expect(table.cells[at + 1]).toBe(2 * (known ?? 0));
          table.cells[at] = now + wait;
          if (isWide) table.cells[at + 1] = 2 * (now + wait);
          map.set(key, now + wait);
        }
        const living = [...map].filter(([, until]) => until > now);
        expect(table.size).toBeGreaterThanOrEqual(living.length);
        for (const [key, until] of living) {
          const at = table.find(`key ${key}`);
          expect(table.cells[at]).toBe(until);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('moves a few rows with each check, and drops the generations with narrower rows once all rows have moved', () => {
    const kind = new Kind();
    const table = new Table(kind, Infinity);
    for (let i = 0; i < 100_000; i++) {
      const at = table.add(`key ${i}`, START);
      table.cells[at] = START + 1;
    }
    kind.width = 2;
    table.generations.widen();
    let most = 0;
    for (let i = 0; i < 30_000; i++) {
      const before = kind.extended;
      if (table.findWide(`key ${i}`, START) < 0) throw new Error(`key ${i} is missing`);
      most = Math.max(most, kind.extended - before);
    }
    expect(most).toBeLessThanOrEqual(17);
    expect(kind.extended).toBe(100_000);
    expect(table.generations.old).toBeUndefined();
    expect(table.size).toBe(100_000);
  });

  test('evicts the row that has the least weight in any generation', () => {
    const kind = new Kind();
    // The seed is fixed, because with one seed in a hundred, all rows that an eviction compares have the greater weight.
    const table = new Table(kind, 1000, Int32Array.of(1, 2));
    const put = (key: string, until: number, isWide: boolean): void => {
      if ((isWide ? table.findWide(key, START) : table.find(key)) < 0) table.add(key, START);
      const at = isWide ? table.findWide(key, START) : table.find(key);
      table.cells[at] = until;
      if (isWide) table.cells[at + 1] = 2 * until;
    };
    for (let i = 0; i < 1000; i++) put(`key ${i}`, START + (i % 2 === 0 ? 1e6 : 10), false);
    kind.width = 2;
    table.generations.widen();
    for (let i = 0; i < 400; i++) put(`new ${i}`, START + 100, true);
    expect(table.size).toBe(1000);
    for (let i = 0; i < 1000; i += 2) expect(table.findWide(`key ${i}`, START)).toBeGreaterThan(0);
  });
});

describe('a store', () => {
  test('drops the tables of limiters that are no longer used', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    for (let i = 0; i < 20_000; i++) {
      createLimiter(gcra({ limit: 1 + i, per: '1s' }), { store }).take('k');
      clock.advance(10);
      // A hundred tables are in use at any time, and some more have not been dropped yet.
      if (i % 100 === 0) expect(store.size).toBeLessThan(300);
    }
  });

  test('drops unused tables while one limiter gets new keys', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    for (let i = 0; i < 1000; i++) createLimiter('1/s', { store, name: `name ${i}` }).take('k');
    expect(store.size).toBe(1000);
    clock.advance(1000);
    const limiter = createLimiter('1/h', { store, name: 'api' });
    for (let i = 0; i < 10_000; i++) limiter.take(`key ${i}`);
    expect(store.size).toBeLessThan(10_010);
  });

  test('drops a table of 200,000 slots in parts, and never drops a table with a row in use', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const large = createLimiter('1/s', { store, name: 'large' });
    const slow = createLimiter('1/h', { store, name: 'slow' });
    // These tables stay in use. If they were dropped before the large table, the store would keep it as one of its last eight.
    for (let i = 0; i < 8; i++) createLimiter('1/h', { store, name: `small ${i}` }).take('k');
    for (let i = 0; i < 100_000; i++) large.take(`key ${i}`);
    slow.take('k');
    clock.advance(1000);
    const other = createLimiter('1/h', { store, name: 'other' });
    for (let i = 0; i < 60_000; i++) other.take(`key ${i}`);
    expect(store.size).toBe(60_009);
    expect(slow.take('k').allowed).toBe(false);
  });

  test('drops nothing while it has at most eight tables', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    for (let i = 0; i < 8; i++) {
      createLimiter('1/s', { store, name: `name ${i}` }).take('k');
      clock.advance(1000);
    }
    expect(store.size).toBe(8);
  });

  test('keeps manual blocks until they end, even if the tables of their limiter were dropped', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiter = createLimiter('1/s', { store, name: 'api' });
    limiter.take('k');
    limiter.block('k', '1h');
    const tiers = { log: '10/s sliding-log' };
    const other = createLimiter('10/s', { store: another(store), name: 'api', tiers });
    for (let i = 0; i < 2000; i++) {
      clock.advance(1000);
      createLimiter('1/s', { store, name: `name ${i}` }).take('k');
    }
    expect(store.size).toBeLessThan(30);
    expect(limiter.take('k').policy).toBe('block');
    expect(other.take('k', { tier: 'log' }).policy).toBe('block');
    clock.advance(3600_000);
    for (let i = 0; i < 200; i++) createLimiter('1/s', { store, name: `again ${i}` }).take('k');
    expect(limiter.take('k').allowed).toBe(true);
    limiter.block('other', '1s');
    expect(other.take('other').allowed).toBe(false);
  });

  test('keeps serving limiters that outlive their table', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    const limiters = [1, 2].map(() => createLimiter('10/s', { store, name: 'api' }));
    for (let round = 0; round < 3; round++) {
      for (const limiter of limiters) limiter.take('k');
      expect(limiters.map((limiter) => limiter.peek('k').remaining)).toEqual([8, 8]);
      clock.advance(1000);
      for (let i = 0; i < 200; i++) createLimiter('1/h', { store, name: `${round} ${i}` }).take('k');
      expect(store.size).toBe(200 * (round + 1));
    }
  });

  test('does not drop a table that is about to get its first row', () => {
    const clock = manualClock(START);
    const store = memory({ clock });
    for (let i = 0; i < 10; i++) createLimiter('1/d', { store, name: `own ${i}` }).take('k');
    for (let i = 0; i < 1000; i++) {
      const limiter = createLimiter('10/s', { store, name: `name ${i}` });
      limiter.take('k');
      expect(createLimiter('10/s', { store, name: `name ${i}` }).take('k').remaining).toBe(8);
      clock.advance(1000);
    }
  });

  test('frees the memory of 100,000 sets of limits that are no longer used', { timeout: 120_000 }, () => {
    const script = `
      import { createLimiter, gcra, memory } from './dist/index.js';
      import { manualClock } from './dist/testing/index.js';
      const clock = manualClock(1_700_000_000_000);
      const store = memory({ clock });
      let limit = 0;
      const limiters = {
        texts: createLimiter(() => limit + '/s', { store, name: 'texts' }),
        objects: createLimiter(() => gcra({ limit, per: 1000 }), { store, name: 'objects' }),
        unnamed: { take: (key) => createLimiter(gcra({ limit, per: 1000 }), { store }).take(key) },
        named: { take: (key) => createLimiter(gcra({ limit, per: 1000 }), { store, name: 'n' + limit }).take(key) },
      };
      const held = () => {
        gc(); gc();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const run = (limiter, count) => {
        for (let i = 0; i < count; i++) {
          limit = (limit % 1_000_000) + 1;
          limiter.take('key ' + (i % 100));
          clock.advance(10);
        }
      };
      for (const [name, limiter] of Object.entries(limiters)) {
        run(limiter, 5000);
        const before = held();
        run(limiter, 25_000);
        console.log(name, held() - before);
      }`;
    const out = execFileSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', script], {
      cwd: new URL('../../..', import.meta.url),
    });
    const grown = Object.fromEntries(
      out
        .toString()
        .trim()
        .split('\n')
        .map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]),
    );
    expect(Object.keys(grown)).toHaveLength(4);
    // Less than 40 bytes for each set of limits means that no set stays in memory.
    for (const [name, bytes] of Object.entries(grown)) expect(bytes, name).toBeLessThan(1e6);
  });
});
