/** Tests threads that die just before one of the writes of a take. The next thread finds the old row or the new one, never a mix. */
import { afterEach, expect, test, vi } from 'vitest';
import { createLimiter, gcra, memory } from '../../../src/index.ts';
import type { Hit } from '../../../src/engine/contract.ts';
import { decide } from '../../../src/engine/decide.ts';
import { inlinePolicies, inlineTake } from '../../../src/stores/shared-memory/inline-take.ts';
import { sharedMemory } from '../../../src/stores/shared-memory/index.ts';
import { INLINE, type Layout, layoutOf, ROW_CELL } from '../../../src/stores/shared-memory/layout.ts';
import { Lock } from '../../../src/stores/shared-memory/lock.ts';
import { Rows } from '../../../src/stores/shared-memory/rows.ts';
import { Weights } from '../../../src/stores/shared-memory/weights.ts';
import { fingerprint, high, low } from '../../../src/stores/table/fingerprint.ts';
import { audit } from './audit.ts';

const START = 1_700_000_000_000;
const real = Atomics;
afterEach(() => vi.unstubAllGlobals());

/**
 * Wraps the layout for a thread that dies before write number `last`. A dead thread writes nothing, not even to unlock.
 */
function mortal(layout: Layout, last: number) {
  const arrays = new Map<object, Int32Array>();
  let writes = 0;
  const write = (): void => {
    if (++writes >= last) throw new Error('dead');
  };
  const watched = <T extends Int32Array | Float64Array>(array: T): T => {
    const proxy = new Proxy(array, {
      get: (target, key) => Reflect.get(target, key, target) as unknown,
      set(target, key, value) {
        write();
        return Reflect.set(target, key, value, target);
      },
    });
    arrays.set(proxy, array as Int32Array);
    return proxy;
  };
  const rawOf = (array: Int32Array): Int32Array => arrays.get(array) ?? array;
  vi.stubGlobal('Atomics', {
    load: (array: Int32Array, at: number) => real.load(rawOf(array), at),
    notify: (array: Int32Array, at: number) => real.notify(rawOf(array), at),
    compareExchange(array: Int32Array, at: number, expected: number, value: number) {
      write();
      return real.compareExchange(rawOf(array), at, expected, value);
    },
  });
  return {
    layout: { ...layout, words: watched(layout.words), cells: watched(layout.cells) },
    writes: () => writes,
  };
}

const hits: Hit[] = [];
const recording = memory();
createLimiter(gcra({ limit: 10, per: '1h' }), {
  store: {
    ...recording,
    apply(hit) {
      hits.push(hit);
      return recording.apply(hit);
    },
  },
  name: 'api',
}).take('k');
const [hit] = hits;
const rowAfter = (before: readonly number[], at: number): number[] => {
  const row = Float64Array.from(before);
  decide(hit, row, 0, at, 0, { get: () => row, put: () => 0 });
  return [...row];
};

test('a thread that dies at any point of a take leaves either the old row or the complete new row', {
  timeout: 60_000,
}, () => {
  const seed = Int32Array.of(1, 2);
  const old = rowAfter([0, 0, 0, 0, 0], START);
  const next = rowAfter(old, START + 1000);
  const found: string[] = [];
  for (let last = 1; ; last++) {
    const { handle } = sharedMemory({ maxKeys: 50 });
    const layout = layoutOf(handle);
    const lives = new Rows(layout, 1);
    fingerprint('k', seed);
    const tag = [low, high] as const;
    lives.write(lives.open(...tag), START + 1, 0, Float64Array.from(old), INLINE);
    lives.close();

    const { layout: seen, writes } = mortal(layout, last);
    const lock = new Lock(seen.words, 2);
    const thread = {
      layout: seen,
      lock,
      weights: new Weights(seen),
      time: () => START + 1000,
      isGiven: true,
    };
    const policies = inlinePolicies(hit.plan) ?? [];
    const take = inlineTake(thread);
    let isDead = false;
    try {
      expect(take({ policies, row: seed, measure: 1 }, 'k', 1)?.remaining).toBe(8);
    } catch (error) {
      expect(String(error)).toContain('dead');
      isDead = true;
    }
    vi.unstubAllGlobals();

    const slot = lives.open(...tag);
    const row = Array.from(layout.cells.subarray(slot / 2 + ROW_CELL, slot / 2 + ROW_CELL + INLINE));
    lives.close();
    audit(handle);
    expect([old, next]).toContainEqual(row);
    found.push(row[0] === old[0] ? 'old' : 'new');
    if (isDead) continue;
    expect(writes()).toBe(last - 1);
    break;
  }
  // Before the journal is armed, the thread writes the lock, the time, ten words and cells of the journal, and the journal's slot.
  // After the journal is armed, the thread writes seven times to the slot of the row, and then unlocks.
  expect(found.indexOf('new')).toBeGreaterThan(10);
  expect(found.slice(found.indexOf('new')).every((which) => which === 'new')).toBe(true);
  expect(found.length - found.indexOf('new')).toBeGreaterThan(7);
});
