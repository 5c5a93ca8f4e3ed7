/** Plans with different limits and the same name share rows. Which key a full table evicts depends on all of these plans. */
import { describe, expect, test } from 'vitest';
import { createLimiter, fixedWindow, memory } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';

const KEYS = 1000;
/** Ten hours and half a minute after midnight. */
const MORNING = 1_700_000_000_000 - (1_700_000_000_000 % 86_400_000) + 36_030_000;

const daily = fixedWindow({ limit: 10, per: '1d' });
const minutely = fixedWindow({ limit: 10, per: '1m' });

describe.each([
  ['a tier', true],
  ['the base policies', false],
])('with the slower policy in %s, a flood of new keys under the faster policy', (_, isTier) => {
  /** `slow` and `fast` read the same rows. For the faster policy, a row of the slower one counts as fully replenished. */
  function open() {
    const [base, other] = isTier ? [minutely, daily] : [daily, minutely];
    const store = memory({ clock: manualClock(MORNING), maxKeys: KEYS });
    const limiter = createLimiter(base, { store, name: 'api', tiers: { other } });
    // The store must know both plans before it weighs the first row.
    limiter.take('first');
    limiter.take('first', { tier: 'other' });
    return {
      store,
      slow: isTier ? ('other' as const) : undefined,
      flood: () => {
        const tier = isTier ? undefined : 'other';
        for (let i = 0; i < 20 * KEYS; i++) limiter.take(`flood ${i}`, { tier });
      },
      limiter,
    };
  }

  const victims = Array.from({ length: 100 }, (_unused, i) => `victim ${i}`);

  test('evicts no key that the slower policy denies', () => {
    const { store, limiter, slow, flood } = open();
    for (const victim of victims) limiter.take(victim, { cost: 10, tier: slow });
    flood();
    expect(store.size).toBeLessThanOrEqual(KEYS);
    for (const victim of victims) expect(limiter.take(victim, { tier: slow }).allowed).toBe(false);
  });

  test('evicts no key that has used most of the slower policy’s limit', () => {
    const { limiter, slow, flood } = open();
    for (const victim of victims) limiter.take(victim, { cost: 9, tier: slow });
    flood();
    for (const victim of victims) expect(limiter.peek(victim, { tier: slow }).remaining).toBe(1);
  });
});
