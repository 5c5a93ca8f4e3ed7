import { describe, expect, test } from 'vitest';
import {
  concurrency,
  createLimiter,
  gcra,
  type LimiterOptions,
  memory,
  minInterval,
  pacer,
  penalty,
  type Policies,
  slidingLog,
  SluiceError,
} from '../../../src/index.ts';
import { manualClock } from '../../../src/testing/index.ts';
import { another } from '../../support/stores.ts';

function errorOf(act: () => unknown): SluiceError {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError);
    return error as SluiceError;
  }
  throw new Error('no error was thrown');
}

const only: Readonly<Record<string, Policies>> = {
  'sliding-log': slidingLog({ limit: 5, per: '1s' }),
  concurrency: concurrency({ limit: 5, lease: '1s' }),
  'min-interval': minInterval({ every: '1s' }),
  pacer: pacer({ limit: 5, per: '1s' }),
};

test('createLimiter rejects an unknown value of inherit and lists the accepted values', () => {
  const error = errorOf(() => createLimiter('5/s', { name: 'api', inherit: 'double' as 'reset' }));
  expect(error).toMatchObject({ code: 'ERR_CHOICE', option: 'createLimiter.inherit', value: 'double' });
  expect(error.message).toContain('as-is, proportional, additive, reset');
});

test('createLimiter requires a name for inherit, because nothing could be inherited without a name', () => {
  const error = errorOf(() => createLimiter('5/s', { inherit: 'additive' }));
  expect(error).toMatchObject({ code: 'ERR_MISSING_OPTION', option: 'createLimiter.name' });
});

describe.each(Object.entries(only))('%s', (algorithm, policies) => {
  test.each(['as-is', 'proportional'] as const)(
    'does not support %s, and the error lists the supported values',
    (inherit) => {
      for (const act of [
        () => createLimiter(policies, { name: 'api', inherit }),
        () => createLimiter({ rate: '5/s', own: policies as never }, { name: 'api', inherit }),
        () => createLimiter('5/s', { name: 'api', inherit, tiers: { other: policies } }),
        () => createLimiter(() => policies, { name: 'api', inherit }).take('k'),
      ]) {
        const error = errorOf(act);
        expect(error).toMatchObject({ code: 'ERR_CHOICE', option: 'createLimiter.inherit', value: inherit });
        expect(error.message).toContain(`${algorithm} supports only 'additive' and 'reset'`);
      }
    },
  );

  test.each(['additive', 'reset'] as const)('supports %s', (inherit) => {
    expect(createLimiter(policies, { name: 'api', inherit }).take('k').allowed).toBe(true);
  });
});

test('a penalty accepts every value of inherit, because it has nothing to convert', () => {
  const policies = { rate: '2/s', lockout: penalty({ after: 2, within: '1h', block: '1h' }) };
  const longer = { rate: '9/s', lockout: penalty({ after: 2, within: '1h', block: '2h' }) };
  for (const inherit of ['as-is', 'proportional', 'additive', 'reset'] as const) {
    const store = memory({ clock: manualClock(0) });
    const before = createLimiter(policies, { store, name: 'api', inherit });
    const after = createLimiter(longer, { store, name: 'api', inherit });
    for (let i = 0; i < 4; i++) before.take('k');
    expect(before.peek('k')).toMatchObject({ allowed: false, policy: 'lockout', retryAfter: 3_600_000 });
    expect(after.peek('k').allowed).toBe(inherit === 'reset');
  }
});

test('limiters with inherit neither convert nor change state that was written without inherit', () => {
  const store = memory({ clock: manualClock(0) });
  const limiter = (inherit?: LimiterOptions['inherit']) =>
    createLimiter(gcra({ limit: 10, per: '1s' }), { store: another(store), name: 'api', inherit });
  limiter().take('k', 6);
  expect(limiter('additive').take('k', 3).remaining).toBe(7);
  expect(limiter('proportional').take('k', 1).remaining).toBe(9);
  expect(limiter().peek('k').remaining).toBe(4);
  expect(limiter('additive').peek('k').remaining).toBe(7);
});

test('keys with their own policies inherit used units when these policies change', () => {
  const limits = new Map([['alice', '10/s']]);
  const limiter = createLimiter((key) => limits.get(key) ?? '1/s', {
    store: memory({ clock: manualClock(0) }),
    name: 'by key',
    inherit: 'additive',
  });
  limiter.take('alice', 6);
  limits.set('alice', '20/s');
  expect(limiter.peek('alice').remaining).toBe(14);
  limiter.reset('alice');
  expect(limiter.peek('alice').remaining).toBe(20);
});

test('a reset and a manual block apply to all tiers of a key', () => {
  for (const inherit of ['as-is', 'proportional', 'additive', 'reset'] as const) {
    const tiers = { more: '20/s', other: '20/s fixed-window' };
    const limiter = createLimiter('10/s', {
      store: memory({ clock: manualClock(0) }),
      name: 'api',
      inherit,
      tiers,
    });
    const all = [undefined, 'more', 'other'] as const;
    for (const tier of all) limiter.take('k', { tier, cost: 4 });
    limiter.block('k', '1s');
    for (const tier of all) expect(limiter.take('k', { tier }).policy).toBe('block');
    limiter.reset('k');
    for (const tier of all) {
      const { limit, remaining } = limiter.peek('k', { tier });
      expect(remaining).toBe(limit);
    }
  }
});
