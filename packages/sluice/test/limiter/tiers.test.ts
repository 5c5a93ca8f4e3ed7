/** The tiers of a limiter share one count per key, whatever policies they have. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concurrency, createLimiter, gcra, type Limiter, memory, type Policies } from '../../src/index.ts';
import { slotsOf } from '../../src/policy/shared-cells.ts';
import { plansFor } from '../../src/policy/named-policies.ts';
import { manualClock } from '../../src/testing/index.ts';
import { STORES } from '../support/stores.ts';

const DAY = 86_400_000;
const START = 1_700_000_000_000 - (1_700_000_000_000 % DAY);

/** All stores except Valkey in wasm, which takes a tenth of a second per answer and runs the same script as Redis. */
const { valkey: _, ...stores } = STORES;

describe.each(Object.entries(stores))('on %s', (_, make) => {
  const open = (policies: Policies, tiers: Record<string, Policies>) => {
    const clock = manualClock(START);
    return { clock, limiter: createLimiter(policies, { store: make(clock), name: 'api', tiers }) };
  };

  test('an upgrade takes effect immediately, and used units stay used', async () => {
    const { limiter } = open('100/day', { pro: '1000/min' });
    await limiter.take('alice', 50);
    expect(await limiter.take('alice', { tier: 'pro' })).toMatchObject({ allowed: true, remaining: 949 });
    expect((await limiter.peek('alice')).remaining).toBe(49);
  });

  test('a downgrade keeps used units used', async () => {
    const { limiter } = open('100/day', { pro: '1000/min' });
    await limiter.take('alice', { tier: 'pro', cost: 70 });
    expect((await limiter.peek('alice')).remaining).toBe(30);
    await limiter.take('alice', { tier: 'pro', cost: 30 });
    expect((await limiter.take('alice')).allowed).toBe(false);
  });

  test.each<[string, Policies]>([
    ['that has the same name', { second: '5/s', default: '20/day fixed-window' }],
    ['that has the same window', { second: '5/s', day: '20/day fixed-window' }],
    ['that is written as text', '5/s & 20/day fixed-window'],
  ])('alternating between tiers of 10 and 20 a day admits 20, not 30, with a policy %s', async (_, pro) => {
    const { clock, limiter } = open('10/day fixed-window', { pro });
    const admitted = [0, 0];
    for (let i = 0; i < 120; i++) {
      const tier = i % 2 === 0 ? undefined : 'pro';
      if ((await limiter.take('alice', { tier })).allowed) admitted[i % 2]++;
      clock.advance(1000);
    }
    expect(admitted[0] + admitted[1]).toBe(20);
    expect(admitted[0]).toBeLessThanOrEqual(10);
  });

  test('a tier neither checks nor charges a policy that it does not have', async () => {
    const { limiter } = open('100/day fixed-window', {
      strict: { day: '100/day fixed-window', second: '2/s', jobs: concurrency({ limit: 2, lease: '1h' }) },
    });
    await limiter.take('alice', 50);
    const strict = await limiter.take('alice', { tier: 'strict', cost: 2 });
    expect(strict.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['day', 48],
      ['second', 0],
      ['jobs', 0],
    ]);
    expect((await limiter.take('alice', 40)).remaining).toBe(8);
    expect((await limiter.take('alice', { tier: 'strict' })).allowed).toBe(false);
    await limiter.release('alice', { tier: 'strict', cost: 2 });
    await limiter.refund('alice', 40);
    expect(
      (await limiter.peek('alice', { tier: 'strict' })).policies.map(({ remaining }) => remaining),
    ).toEqual([48, 0, 2]);
  });
});

test('used units stay used when a policy function returns another policy for a key, even if the limiter has no name', () => {
  const plans = new Map([['alice', '100/day']]);
  const limiter = createLimiter((key) => plans.get(key) ?? '1/s', {
    store: memory({ clock: manualClock(START) }),
  });
  limiter.take('alice', 50);
  plans.set('alice', '1000/min');
  expect(limiter.take('alice')).toMatchObject({ allowed: true, remaining: 949 });
});

test('inherit requires a name only if a limiter has neither tiers nor a policy function', () => {
  createLimiter('5/s', { inherit: 'proportional', tiers: { pro: '10/s' } });
  createLimiter(() => '5/s', { inherit: 'as-is' });
  expect(() => createLimiter('5/s', { inherit: 'additive' })).toThrow('createLimiter.name is required');
});

test('tiers with different limits do not change the layout of a row that counts used units', () => {
  const [plain] = plansFor(['1000/day fixed-window'], 'api');
  const [base, pro] = plansFor(['1000/day fixed-window', '5000/day fixed-window'], 'api', 'additive');
  for (const plan of [base, pro]) {
    expect([plan.signature, plan.width]).toEqual([plain.signature, plain.width]);
    expect(plan.inherit).toBeUndefined();
  }
});

describe('the layout of a row', () => {
  const layout = (all: readonly Policies[]) =>
    plansFor(all, 'api').map(({ signature, policies }) => [
      signature,
      Object.fromEntries(policies.map(({ name, offset }) => [name, offset])),
    ]);

  test('does not depend on the order of policies or tiers', () => {
    const rates = [
      '10/s',
      '100/min',
      '1000/day',
      '50/min fixed-window',
      '9/day fixed-window',
      '7/min sliding-log',
    ];
    const names = fc.constantFrom('a', 'b', 'c', 'default');
    const policies = fc
      .uniqueArray(fc.tuple(names, fc.constantFrom(...rates)), { minLength: 1, selector: ([name]) => name })
      .map((entries) => entries.map(([name, rate]) => [name, rate] as const));
    const shuffled = fc.array(policies, { minLength: 1, maxLength: 4 }).chain((plans) =>
      fc.tuple(
        fc.constant(plans),
        fc.shuffledSubarray(
          plans.map((_, i) => i),
          { minLength: plans.length },
        ),
        fc.tuple(...plans.map((plan) => fc.shuffledSubarray(plan, { minLength: plan.length }))),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([plans, order, written]) => {
        const before = layout(plans.map((plan) => Object.fromEntries(plan)));
        const after = layout(order.map((i) => Object.fromEntries(written[i])));
        expect(after).toEqual(order.map((i) => before[i]));
      }),
      { numRuns: 500 },
    );
  });

  test('gives every policy of a plan its own cells', () => {
    const policy = (name: string, limit: number, per: number) => ({ ...gcra({ limit, per }), name });
    const slots = slotsOf([
      [policy('default', 10, DAY)],
      [policy('day', 20, DAY), policy('second', 5, 1000)],
      [policy('hour', 20, 3_600_000), policy('daily', 5, DAY)],
    ]);
    expect(slots.map(({ policies }) => policies.map((one) => one?.name))).toEqual([
      [undefined, 'second', undefined],
      [undefined, undefined, 'hour'],
      ['default', 'day', 'daily'],
    ]);
  });
});

test('policies keep their counts if their order changes', () => {
  const store = memory({ clock: manualClock(START) });
  const limiter = (policies: Policies): Limiter => createLimiter(policies, { store, name: 'api' });
  limiter({ second: '10/s', day: '100/day' }).take('alice', 10);
  const { policies } = limiter({ day: '100/day', second: '10/s' }).peek('alice');
  expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
    ['day', 90],
    ['second', 0],
  ]);
});
