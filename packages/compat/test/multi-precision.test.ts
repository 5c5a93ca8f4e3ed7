import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { createMultiPrecision, RateLimit, type Rule } from '../src/multi-precision.ts';
import { redis } from 'sluice/redis';
import { manualClock } from 'sluice/testing';
import { punctually } from 'sluice-test-support/redis/watch.ts';
import { type MakeStore, STORES } from './stores.ts';
import { agrees, Ledger, load, sort } from 'sluice-test-support/vectors/vector.ts';

const clients = Array.from({ length: 4 }, () => new Redis(inject('redisPort'), '127.0.0.1'));
const [client] = clients as [Redis];
afterAll(() => {
  for (const one of clients) one.disconnect();
});
let names = 0;
const ownName = (): string => `carlson ${process.pid} ${++names}`;

/**
 * A scenario that was recorded from ratelimit.js 1.8.0 (with `rules`), or from the copy of Carlson's script in that package (with
 * `limits`).
 */
interface Scenario {
  readonly name: string;
  readonly rules?: readonly Rule[];
  readonly limits?: readonly Rule[];
  readonly quirk?: string;
  readonly steps: readonly {
    readonly atSeconds: number;
    readonly op?: 'incr' | 'check';
    readonly keys: readonly string[];
    readonly weight?: number;
    readonly expected: { readonly limited: boolean };
  }[];
}

async function run({ rules, limits, steps }: Scenario, makeStore: MakeStore): Promise<readonly string[]> {
  const clock = manualClock();
  const limiter = createMultiPrecision(rules ?? limits ?? [], { store: makeStore(clock) });
  const ledger = new Ledger();
  for (const [index, step] of steps.entries()) {
    const { atSeconds, op, keys, weight, expected } = step;
    ledger.at(index, step);
    clock.set(atSeconds * 1000);
    const limited = op === 'check' ? await limiter.check(keys) : await limiter.incr(keys, weight);
    ledger.same('limited', limited, expected.limited);
  }
  return ledger.differences;
}

/** Quirks of the original that Sluice does not reproduce. Sluice reproduces all other quirks. */
const NOT_SHARED: Readonly<Record<string, string>> = {
  'clock-backwards': 'the clock goes back',
  'fractional-seconds': 'the original denies everything with a precision below a second',
  'weight-zero-then-trim': 'the original fails',
};

const recording = sort(
  load<{ scenarios: Scenario[] }>('carlson').scenarios,
  ({ name }) => name,
  ({ name }) => NOT_SHARED[name],
  (scenario) =>
    agrees(`carlson: ${scenario.name}`, scenario.steps.length, (makeStore) => run(scenario, makeStore)),
);

for (const store of ['memory', 'redis 7']) {
  const makeStore = STORES[store];

  describe(`on ${store},`, () => {
    for (const { claim, run: runOver } of recording.vectors) {
      test(claim, async () => {
        expect(await runOver(makeStore)).toEqual([]);
      });
    }

    test('a call is counted for none of its identifiers if one of them is denied', async () => {
      const limiter = createMultiPrecision([[60, 3, 1]], { store: makeStore(manualClock()) });
      expect(await limiter.incr('a', 2)).toBe(false);
      expect(await limiter.incr(['b', 'a'], 2)).toBe(true);
      expect(await limiter.incr('b', 3)).toBe(false);
      expect(await limiter.incr(['a', 'c'], 1)).toBe(false);
      expect(await limiter.incr('c', 2)).toBe(false);
    });

    test('a call is counted for none of the rules if one of them denies it', async () => {
      const clock = manualClock();
      const limiter = createMultiPrecision(
        [
          [1, 2],
          [60, 4, 10],
        ],
        { store: makeStore(clock) },
      );
      for (let i = 0; i < 10; i++) expect(await limiter.incr('a')).toBe(i >= 2);
      clock.set(1000);
      expect(await limiter.incr('a', 2)).toBe(false);
      clock.set(2000);
      expect(await limiter.check('a')).toBe(true);
    });

    test('violatedRules returns the same rule objects that were given', async () => {
      const second = { interval: 1, limit: 2 };
      const minute = { interval: 60, limit: 3, precision: 10 };
      const clock = manualClock();
      const limiter = createMultiPrecision([second, minute], { store: makeStore(clock) });
      expect(await limiter.violatedRules('a')).toEqual([]);
      await limiter.incr('a', 2);
      expect(await limiter.violatedRules('a')).toEqual([second]);
      clock.set(1000);
      await limiter.incr('a');
      expect(await limiter.violatedRules('a')).toEqual([minute]);
      await limiter.incr('b', 2);
      expect(await limiter.violatedRules(['a', 'b'])).toEqual([second, minute]);
      expect((await limiter.violatedRules('a'))[0]).toBe(minute);
    });

    test('a rule with a precision below a second covers its whole interval', async () => {
      const clock = manualClock(700_000_000);
      // 2.1 / 0.7 is a little more than 3.
      const limiter = createMultiPrecision([[2.1, 3, 0.7]], { store: makeStore(clock) });
      for (let i = 0; i < 3; i++) expect(await limiter.incr('a')).toBe(false);
      clock.advance(2099);
      expect(await limiter.incr('a')).toBe(true);
      clock.advance(1);
      expect(await limiter.incr('a')).toBe(false);
    });
  });
}

test('13 recorded scenarios with 415 steps are compared, 8 of which (231 steps) involve no quirk of the original, and 3 others are left out', () => {
  const { scenarios } = load<{ scenarios: Scenario[] }>('carlson');
  const divides = (rule: Rule): boolean => {
    const [duration, , precision = duration] = 'interval' in rule ? [rule.interval, 0, rule.precision] : rule;
    return duration % Math.min(precision, duration) === 0;
  };
  const must = scenarios.filter(
    ({ quirk, rules = [], limits = [] }) => quirk === undefined && [...rules, ...limits].every(divides),
  );
  expect(recording.vectors).toHaveLength(13);
  expect(recording.vectors.reduce((sum, { steps }) => sum + steps, 0)).toBe(415);
  expect(must.every(({ name }) => NOT_SHARED[name] === undefined)).toBe(true);
  expect(must).toHaveLength(8);
  expect(must.reduce((sum, { steps }) => sum + steps.length, 0)).toBe(231);
  expect(Object.values(recording.leftOut).flat()).toHaveLength(3);
});

describe('RateLimit of ratelimit.js:', () => {
  const heard = <T>(
    call: (callback: (error: Error | null, result?: T) => void) => void,
  ): Promise<unknown[]> =>
    new Promise((resolve) => {
      expect(call((...args) => resolve(args))).toBeUndefined();
    });

  test('passes the result to the callback, with or without a weight', () =>
    punctually(100, async () => {
      const limiter = new RateLimit(client, [{ interval: 3600, limit: 3 }], { prefix: ownName() });
      expect(await heard((callback) => limiter.incr('127.0.0.1', callback))).toEqual([null, false]);
      expect(await heard((callback) => limiter.incr(['127.0.0.1'], 2, callback))).toEqual([null, false]);
      expect(await heard((callback) => limiter.incr('127.0.0.1', undefined, callback))).toEqual([null, true]);
      expect(await heard((callback) => limiter.check('127.0.0.1', callback))).toEqual([null, true]);
      expect(await heard((callback) => limiter.violatedRules('127.0.0.1', callback))).toEqual([
        null,
        [{ interval: 3600, limit: 3 }],
      ]);
    }));

  test('passes an error of the store to the callback', async () => {
    const limiter = new RateLimit({ send: () => Promise.reject(new Error('down')) }, [[60, 1]]);
    const [error] = await heard((callback) => limiter.check('a', callback));
    expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' });
    await expect(limiter.incr('a')).rejects.toThrow('down');
  });

  test('instances with the same prefix but different windows count separately, and an instance with a new limit keeps the count', () =>
    punctually(100, async () => {
      const prefix = ownName();
      const hour = (limit: number): Rule => ({ interval: 3600, limit, precision: 60 });
      const free = new RateLimit(client, [hour(2)], { prefix });
      const paid = new RateLimit(client, [hour(2), [86_400, 10, 3600]], { prefix });
      expect([await free.incr('a', 2), await paid.incr('a', 2)]).toEqual([false, false]);
      expect([await free.check('a'), await paid.check('a')]).toEqual([true, true]);
      const raised = new RateLimit(client, [hour(3)], { prefix });
      expect([await raised.incr('a'), await raised.incr('a')]).toEqual([false, true]);
    }));

  test('with clientPrefix, only the Redis client adds the prefix to a key', () =>
    punctually(100, async () => {
      const prefix = ownName();
      const prefixed = new Redis(inject('redisPort'), '127.0.0.1', { keyPrefix: `${prefix} ` });
      await new RateLimit(prefixed, [[3600, 2]], { prefix, clientPrefix: true }).incr('a');
      const keys = await client.keys(`${prefix}*`);
      prefixed.disconnect();
      expect(keys).toEqual([`${prefix} ratelimit 1x3600000:{a}`]);
    }));

  describe('four concurrent clients', () => {
    const storm = async (ids: readonly string[]) => {
      const prefix = ownName();
      const four = clients.map((one) =>
        createMultiPrecision([[86_400, 100, 3600]], {
          prefix,
          store: redis(one, { onFailure: 'throw', deadline: '30s' }),
        }),
      );
      const limited = await Promise.all(Array.from({ length: 400 }, (_, i) => four[i % 4].incr(ids)));
      return { four, admitted: limited.filter((one) => !one).length };
    };

    test('admit exactly the limit for one identifier', async () => {
      expect((await storm(['a'])).admitted).toBe(100);
    });

    test('never admit more than the limit for two identifiers, and refund calls that conflicted', async () => {
      const { four, admitted } = await storm(['a', 'b']);
      expect(admitted).toBeLessThanOrEqual(100);
      // Refunds after a conflict are sent before this check, so they have arrived once it is answered.
      await Promise.all(four.map((limiter) => limiter.check(['a', 'b'])));
      let later = 0;
      while (!(await four[0].incr(['a', 'b']))) later++;
      expect(admitted + later).toBe(100);
      expect([await four[0].check('a'), await four[0].check('b')]).toEqual([true, true]);
    });
  });
});

describe('invalid arguments', () => {
  const make = (rules: unknown, options?: object) => () => new RateLimit(undefined, rules as Rule[], options);

  test.each([
    ['ERR_OPTIONS', 'rules', make([])],
    ['ERR_OPTIONS', 'rules', make(undefined)],
    ['ERR_OPTIONS', 'rules.0', make([7])],
    [
      'ERR_NUMBER',
      'rules.1.interval',
      make([
        [1, 1],
        [0, 1],
      ]),
    ],
    ['ERR_MISSING_OPTION', 'rules.0.limit', make([{ interval: 1 }])],
    ['ERR_NUMBER', 'rules.0.precision', make([[10, 1, -1]])],
    ['ERR_UNKNOWN_OPTION', 'rules.0.precison', make([{ interval: 1, limit: 1, precison: 1 }])],
    ['ERR_UNKNOWN_OPTION', 'options.perfix', make([[1, 1]], { perfix: 'a' })],
  ])('throw %s for %s', (code, option, construct) => {
    expect(construct).toThrow(expect.objectContaining({ code, option }));
  });

  test('such as an empty list of identifiers or a weight that is not a number are rejected, and nothing is counted', async () => {
    const limiter = createMultiPrecision([[60, 1]], { clock: manualClock() });
    await expect(limiter.incr([])).rejects.toMatchObject({ code: 'ERR_OPTIONS', option: 'ids' });
    await expect(limiter.incr('a', Number.NaN)).rejects.toMatchObject({ code: 'ERR_COST' });
    await expect(limiter.check(7 as never)).rejects.toMatchObject({ code: 'ERR_OPTIONS', option: 'ids' });
    expect(await limiter.incr('a')).toBe(false);
  });
});
