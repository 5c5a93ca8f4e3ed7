/** `sluice/core`: less code, the same answers. */
import { describe, expect, expectTypeOf, test } from 'vitest';
import * as core from '../../src/core.ts';
import { createLimiter, type Decision, type Limiter, memory, type Policies } from '../../src/index.ts';
import { manualClock } from '../../src/testing/index.ts';
import { random, someGap } from '../stores/differential.ts';
import { CASES } from '../support/policies.ts';
import { STORES } from '../support/stores.ts';

type Ask = (limiter: core.CoreLimiter | Limiter) => Decision;

/** All verbs that both have. */
function someVerb(draw: (below: number) => number): Ask {
  const key = `key ${draw(4)}`;
  const cost = draw(14) / 2;
  const mode = (['whole', 'partial', 'always'] as const)[draw(3)] ?? 'whole';
  const asks: readonly Ask[] = [
    (limiter) => limiter.take(key),
    (limiter) => limiter.take(key, { cost, mode }),
    (limiter) => limiter.peek(key, cost),
    (limiter) => limiter.refund(key, cost),
    (limiter) => limiter.release(key, cost),
    (limiter) => (draw(20) === 0 ? limiter.block(key, 300) : limiter.take(key, cost)),
    (limiter) => (draw(20) === 0 ? limiter.reset(key) : limiter.take(key, cost)),
  ];
  return asks[draw(asks.length)];
}

test.each(Object.entries(CASES))('decides as the whole limiter does: %s', (_, { policies }) => {
  const clock = manualClock();
  const whole = createLimiter(policies, { store: memory({ clock }) });
  // What has a name there has the same here: a list and a text become one by name.
  const named = namesOf(policies);
  const small = core.createLimiter(named, { store: core.memory({ clock }) });
  const [draw, again] = [random(7), random(7)];
  for (let step = 0; step < 1000; step++) {
    clock.set(clock.now() + someGap(draw));
    someGap(again);
    expect(someVerb(draw)(small)).toEqual(someVerb(again)(whole));
    expect(small.holds('key')).toBe(whole.holds('key'));
  }
});

function namesOf(policies: Policies): core.CorePolicies {
  if (typeof policies === 'string' || Array.isArray(policies)) throw new Error('no such case');
  return policies as core.CorePolicies;
}

test.each(Object.entries(STORES))(
  'takes, looks, gives back, blocks and forgets: %s',
  async (_, storeWith) => {
    const store = storeWith(manualClock());
    const limiter = core.createLimiter(core.fixedWindow({ limit: 2, per: '1m' }), { store, name: 'small' });
    expect(await limiter.take('a')).toMatchObject({ allowed: true, remaining: 1, policy: 'default' });
    expect(await limiter.take('a', 2)).toMatchObject({ allowed: false, taken: 0 });
    expect(await limiter.refund('a')).toMatchObject({ remaining: 2 });
    expect(await limiter.block('a', '1s')).toMatchObject({ allowed: false, policy: 'block' });
    expect(await limiter.reset('a')).toMatchObject({ allowed: true, remaining: 2 });
    await limiter.close();
    await store.close();
  },
);

test('answers at once in memory, and with a promise where the store does', () => {
  const limiter = core.createLimiter(core.gcra({ limit: 1, per: '1s' }));
  const first = limiter.take('a');
  expectTypeOf(first).toEqualTypeOf<Decision>();
  expect(first.allowed).toBe(true);
  expect(limiter.take('a').allowed).toBe(false);
});

describe('what the small limiter lacks is told', () => {
  const gcra = core.gcra({ limit: 1, per: '1s' });

  test.each([
    ['ERR_POLICY', () => core.createLimiter('100/min' as never)],
    ['ERR_POLICY', () => core.createLimiter({ a: '100/min' } as never)],
    ['ERR_POLICY', () => core.createLimiter(undefined as never)],
    ['ERR_POLICY', () => core.createLimiter({})],
    ['ERR_UNKNOWN_OPTION', () => core.createLimiter(gcra, { tiers: {} } as never)],
    ['ERR_OPTIONS', () => core.createLimiter(gcra, { store: {} as never })],
    ['ERR_TIER', () => core.createLimiter(gcra).take('a', { tier: 'pro' })],
    ['ERR_KEY', () => core.createLimiter(gcra).take(1 as never)],
    ['ERR_KEY', () => core.createLimiter(gcra).reset(1 as never)],
  ])('%s', (code, act) => {
    expect(act).toThrow(expect.objectContaining({ code }));
  });
});
