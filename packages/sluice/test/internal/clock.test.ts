/** Tests stores with a custom clock. Invalid times must be rejected, and a time of 0 is valid. */
import { expect, test } from 'vitest';
import { createLimiter, memory } from '../../src/index.ts';
import { type CasService, casStore } from '../../src/stores/cas/cas.ts';
import { sharedMemory } from '../../src/stores/shared-memory/index.ts';
import { type ManualClock, manualClock } from '../../src/testing/index.ts';
import { type MakeStore, STORES } from '../support/stores.ts';

/** A compare-and-swap service in this process that never expires a row. */
function service(): CasService<number> {
  const values = new Map<string, { value: Uint8Array; version: number }>();
  return {
    get: (key) => values.get(key),
    put(key, value, version = 0) {
      if ((values.get(key)?.version ?? 0) !== version) return false;
      values.set(key, { value, version: version + 1 });
      return true;
    },
  };
}

const EVERY: Readonly<Record<string, MakeStore>> = {
  ...STORES,
  'compare and swap': (clock) => casStore(service(), { onFailure: 'throw', clock, deadline: '30s' }),
};

for (const [name, make] of Object.entries(EVERY)) {
  // With ipc, another process reads the clock, and its error arrives as a failure of the store.
  const code = name === 'ipc' ? /ERR_(CLOCK|STORE)/ : /ERR_CLOCK/;

  test.each([-5, -1e12, Number.NaN, Infinity])(`${name} rejects a clock that returns %s`, async (instant) => {
    const limiter = createLimiter('2/s', { store: make(manualClock(instant)), name: `clock ${instant}` });
    await expect(async () => limiter.take('k')).rejects.toThrow(code);
  });

  test(`${name} admits a fresh key on a clock that starts at 0`, async () => {
    const limiter = createLimiter('2/s', { store: make(manualClock(0)), name: 'clock 0' });
    expect(await limiter.take('k')).toMatchObject({ allowed: true, remaining: 1 });
  });
}

test.each<[string, (clock: ManualClock) => unknown]>([
  ['memory.clock', (clock) => createLimiter('2/s', { store: memory({ clock }) }).take('k')],
  [
    'sharedMemory.clock',
    (clock) => createLimiter('2/s', { store: sharedMemory({ clock, maxKeys: 100 }), name: 'api' }).take('k'),
  ],
])('an error about an invalid time names the option %s and the returned time', (option, take) => {
  expect(() => take(manualClock(-5))).toThrow(
    `${option} must return a finite number of milliseconds, 0 or more; got -5`,
  );
});
