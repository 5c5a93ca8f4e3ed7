/** Replays the recordings of the systems that Sluice replaces, in memory and on Redis. */
import { describe, expect, test } from 'vitest';
import { governor } from './governor.ts';
import { guava } from './guava.ts';
import { risingstack } from './risingstack.ts';
import { sharkey } from './sharkey.ts';
import { STORES } from '../support/stores.ts';
import { throttled } from './throttled.ts';

const RECORDINGS = { governor, throttled, guava, risingstack, sharkey };

// Valkey in WebAssembly is left out, because it answers only ten times per second. It runs the same Lua as Redis.
for (const store of ['memory', 'redis 7']) {
  const makeStore = STORES[store];
  describe(store, () => {
    for (const { vectors } of Object.values(RECORDINGS)) {
      for (const { claim, run } of vectors) {
        test(claim, async () => {
          expect(await run(makeStore)).toEqual([]);
        });
      }
    }
  });
}

/** How many scenarios run, how many steps they have, and how many scenarios are left out for the reasons that the runners give. */
const COUNTS: Readonly<Record<keyof typeof RECORDINGS, readonly [number, number, number]>> = {
  governor: [29, 1228, 3],
  throttled: [52, 2096, 5],
  guava: [87, 1618, 11],
  risingstack: [70, 3238, 22],
  sharkey: [21, 559, 34],
};

for (const [origin, [scenarios, steps, left]] of Object.entries(COUNTS)) {
  test(`${origin}: ${scenarios} scenarios with ${steps} steps are replayed, and ${left} scenarios are left out`, () => {
    const { vectors, leftOut } = RECORDINGS[origin as keyof typeof RECORDINGS];
    expect(vectors).toHaveLength(scenarios);
    expect(vectors.reduce((sum, vector) => sum + vector.steps, 0)).toBe(steps);
    expect(Object.values(leftOut).flat()).toHaveLength(left);
  });
}
